#include "decode/work.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <vector>

namespace qfs {
namespace {

std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

Bytes bytes_of(std::size_t values, Format format) {
  return Bytes(count(values * bytes_per_value(format)));
}

Bytes weight_bytes(const ModelShape& shape, OpKind kind) {
  switch (kind) {
    case OpKind::q:
    case OpKind::o:
      return q_weight_bytes(shape);
    case OpKind::k:
    case OpKind::v:
      return kv_weight_bytes(shape);
    case OpKind::kv:
      return 2 * kv_weight_bytes(shape);
    case OpKind::qkv:
      return q_weight_bytes(shape) + 2 * kv_weight_bytes(shape);
    case OpKind::ffn:
      return ffn_weight_bytes(shape);
    case OpKind::lm_head:
      return lm_head_weight_bytes(shape);
    case OpKind::embed:
    case OpKind::append:
    case OpKind::sweep:
    case OpKind::merge:
      return Bytes(0);
  }
  throw std::logic_error("weight_bytes: unknown operation");
}

int launches_of(OpKind kind) {
  switch (kind) {
    case OpKind::embed:
    case OpKind::append:
    case OpKind::merge:
      return 0;
    case OpKind::ffn:
      return 2;
    default:
      return 1;
  }
}

/// Values that the operation makes, besides those that its inputs name.
Bytes output_bytes(const CountingRules& rules, OpKind kind) {
  const auto bytes = [&](ValueKind value) { return value_bytes(rules, value); };
  switch (kind) {
    case OpKind::q:
      return bytes(ValueKind::q);
    case OpKind::k:
      return bytes(ValueKind::k);
    case OpKind::v:
      return bytes(ValueKind::v);
    case OpKind::kv:
      return bytes(ValueKind::k) + bytes(ValueKind::v);
    case OpKind::qkv:
      return bytes(ValueKind::q) + bytes(ValueKind::k) + bytes(ValueKind::v);
    case OpKind::sweep:
      return bytes(ValueKind::partial);
    case OpKind::o:
    case OpKind::ffn:
      return bytes(ValueKind::residual);
    case OpKind::lm_head:
      return bytes(ValueKind::token);
    case OpKind::embed:
    case OpKind::append:
    case OpKind::merge:
      return Bytes(0);
  }
  throw std::logic_error("output_bytes: unknown operation");
}

/// Inputs and outputs through memory. A merge is fused into the launch of `o` and finds its
/// operands on chip (a parked result is free to read); an append's bytes are the cache rows that it
/// writes; an embedding row is not counted.
Bytes activation_bytes(const CountingRules& rules, const Operation& operation) {
  if (launches_of(operation.kind) == 0) {
    return Bytes(0);
  }
  Bytes total = output_bytes(rules, operation.kind);
  std::vector<Edge> counted;
  for (const Edge& edge : operation.inputs) {
    if (std::find(counted.begin(), counted.end(), edge) == counted.end()) {
      total += value_bytes(rules, edge.value);
      counted.push_back(edge);
    }
  }
  return total;
}

void add_member(const CountingRules& rules, const Operation& operation, Work& work) {
  const ModelShape& shape = rules.shape;
  const Bytes cache_row = bytes_of(2 * shape.kv_width(), rules.formats.kv);
  const std::int64_t weights =
      weight_bytes(shape, operation.kind).value() / count(weight_bytes_per_value);
  work.macs += Macs(weights);
  if (operation.kind == OpKind::sweep) {
    work.kv_read_bytes += count(operation.positions) * cache_row;
    work.macs += Macs(count(2 * shape.q_width() * operation.positions));
    work.exps += Exps(count(shape.heads * operation.positions));
  } else if (operation.kind == OpKind::ffn) {
    work.exps += Exps(count(shape.ffn));
  } else if (operation.kind == OpKind::append) {
    work.kv_written_bytes += cache_row;
  }
  work.activation_bytes += activation_bytes(rules, operation);
}

}  // namespace

Bytes value_bytes(const CountingRules& rules, ValueKind value) {
  const ModelShape& shape = rules.shape;
  const Formats& formats = rules.formats;
  switch (value) {
    case ValueKind::residual:
      return bytes_of(shape.hidden, formats.residual_wire);
    case ValueKind::q:
    case ValueKind::attention:
      return bytes_of(shape.q_width(), formats.wire);
    case ValueKind::k:
    case ValueKind::v:
      return bytes_of(shape.kv_width(), formats.wire);
    case ValueKind::partial:
      return bytes_of(shape.q_width(), formats.wire) + bytes_of(shape.heads, Format::fp32);
    case ValueKind::token:
      return Bytes(4);
    case ValueKind::order:
      return Bytes(0);
  }
  throw std::logic_error("value_bytes: unknown value");
}

Work work_of(const CountingRules& rules, std::span<const Operation* const> members) {
  assert(!members.empty());
  Work work;
  const OpKind kind = members.front()->kind;
  work.weight_bytes = weight_bytes(rules.shape, kind);
  work.launches = launches_of(kind);
  for (const Operation* operation : members) {
    add_member(rules, *operation, work);
  }
  if (rules.accounting == Accounting::weights_and_sweep) {
    work.kv_written_bytes = Bytes(0);
    work.activation_bytes = Bytes(0);
  }
  return work;
}

}  // namespace qfs
