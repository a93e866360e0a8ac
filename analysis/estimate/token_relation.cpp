#include "analysis/estimate/token_relation.hpp"

#include <algorithm>
#include <cassert>

namespace qfs::native {
namespace {

using Kind = RelationKind;

/// The longest prefix that a limit can cut.
std::size_t longest_prefix(const TokenRelation& relation) {
  return std::min(relation.outputs, relation.inputs);
}

/// How many of the first inputs an output, from first_position on, depends on; not of
/// same_position.
std::size_t reach(const TokenRelation& relation, std::size_t output) {
  return relation.kind == Kind::all ? relation.limit : std::min(output + 1, relation.limit);
}

/// Whether `a` holds all that `b` does. Reaches grow with the output, so the ends tell.
bool includes(const TokenRelation& a, const TokenRelation& b) {
  if (a.kind == Kind::same_position || a.first_position > b.first_position) {
    return a.kind == b.kind && a.first_position <= b.first_position;
  }
  if (b.kind == Kind::same_position) {  // reaches every position itself
    return reach(a, a.outputs - 1) == a.outputs;
  }
  const std::size_t last = b.outputs - 1;
  return reach(a, b.first_position) >= reach(b, b.first_position) &&
         reach(a, last) >= reach(b, last);
}

/// Whether a relation of every position to itself adds what `other` lacks of a prefix: the last
/// input of some outputs.
bool completes_prefix(const TokenRelation& same, const TokenRelation& other) {
  const bool grows = other.kind == Kind::prefix || (other.kind == Kind::all && other.limit == 1);
  return same.kind == Kind::same_position && same.first_position == 0 && grows &&
         other.first_position <= 1 && other.limit + 1 >= other.outputs;
}

}  // namespace

TokenRelation no_relation(std::size_t outputs, std::size_t inputs) {
  assert(outputs >= 1 && inputs >= 1);
  return {Kind::none, outputs, inputs, inputs, 0};
}

TokenRelation same_position(std::size_t length, std::size_t first_position) {
  if (first_position >= length) {
    return no_relation(length, length);
  }
  return {Kind::same_position, length, length, length, first_position};
}

TokenRelation all_of(std::size_t outputs, std::size_t inputs, std::size_t limit,
                     std::size_t first_position) {
  assert(limit <= inputs);
  if (limit == 0 || first_position >= outputs) {
    return no_relation(outputs, inputs);
  }
  return {Kind::all, outputs, inputs, limit, first_position};
}

TokenRelation prefix_of(std::size_t outputs, std::size_t inputs, std::size_t limit,
                        std::size_t first_position) {
  TokenRelation relation = all_of(outputs, inputs, limit, first_position);
  if (relation.kind == Kind::none) {
    return relation;
  }
  relation.kind = Kind::prefix;
  relation.limit = limit >= longest_prefix(relation) ? inputs : limit;
  return relation;
}

// A stage's output j is reached by output i if j < reach; it depends on something from
// inner.first_position on, and of those the last depends on most.
std::optional<TokenRelation> composed(const TokenRelation& outer, const TokenRelation& inner) {
  assert(outer.inputs == inner.outputs);
  const std::size_t outputs = outer.outputs;
  const std::size_t inputs = inner.inputs;
  if (outer.kind == Kind::none || inner.kind == Kind::none) {
    return no_relation(outputs, inputs);
  }
  if (outer.kind == Kind::same_position) {
    TokenRelation restricted = inner;
    restricted.first_position = std::max(outer.first_position, inner.first_position);
    return restricted;
  }
  const std::size_t stages = reach(outer, outputs - 1);  // that any output depends on
  if (stages <= inner.first_position) {
    return no_relation(outputs, inputs);
  }
  if (inner.kind == Kind::same_position && inner.first_position > 0) {
    return std::nullopt;  // a window of inputs that does not begin at 0
  }
  const bool grows = outer.kind == Kind::prefix;
  // Of a prefix of stages none depends on anything before the first that does.
  const std::size_t first =
      std::max(outer.first_position, grows ? inner.first_position : std::size_t{0});
  switch (inner.kind) {
    case Kind::all:
      return all_of(outputs, inputs, inner.limit, first);
    case Kind::same_position:
    case Kind::prefix:
    case Kind::none:
      break;
  }
  const std::size_t limit = std::min(stages, inner.limit);
  return grows ? prefix_of(outputs, inputs, limit, first) : all_of(outputs, inputs, limit, first);
}

std::optional<TokenRelation> united(const TokenRelation& a, const TokenRelation& b) {
  assert(a.outputs == b.outputs && a.inputs == b.inputs);
  if (a.kind == Kind::none || b.kind == Kind::none) {
    return a.kind == Kind::none ? b : a;
  }
  if (includes(a, b)) {
    return a;
  }
  if (includes(b, a)) {
    return b;
  }
  const TokenRelation& same = a.kind == Kind::same_position ? a : b;
  const TokenRelation& other = a.kind == Kind::same_position ? b : a;
  return completes_prefix(same, other) ? std::optional(prefix_of(a.outputs, a.inputs, a.inputs))
                                       : std::nullopt;
}

}  // namespace qfs::native
