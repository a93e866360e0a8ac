// Which input tokens may affect an output token: the four relations of 002, and how they compose.
#pragma once

#include <cstddef>
#include <optional>

#include "base/enum_names.hpp"

namespace qfs::native {

enum class RelationKind { all, same_position, prefix, none };

/// Between `outputs` positions of an output and `inputs` positions of an input, both from 0. Output
/// i depends on:
///   all            inputs 0 .. limit-1
///   same_position  input i; only where there are as many inputs as outputs
///   prefix         inputs 0 .. min(i+1, limit)-1
///   none           nothing
/// and outputs before first_position on nothing. Made by the functions below, in one form: a limit
/// that cuts nothing off is `inputs`, and a relation in which nothing depends is `none`.
struct TokenRelation {
  RelationKind kind = RelationKind::none;
  std::size_t outputs = 1;
  std::size_t inputs = 1;
  std::size_t limit = 1;           // of all and prefix; else `inputs`
  std::size_t first_position = 0;  // of none: 0
  bool operator==(const TokenRelation&) const = default;
};

/// Lengths from 1 on; `limit` up to inputs.
TokenRelation no_relation(std::size_t outputs, std::size_t inputs);
TokenRelation same_position(std::size_t length, std::size_t first_position = 0);
TokenRelation all_of(std::size_t outputs, std::size_t inputs, std::size_t limit,
                     std::size_t first_position = 0);
TokenRelation prefix_of(std::size_t outputs, std::size_t inputs, std::size_t limit,
                        std::size_t first_position = 0);

/// What outputs depend on through a stage between: `outer` from the stage to the output, `inner`
/// from the input to the stage, with outer.inputs == inner.outputs. Nothing where the result is
/// none of the four kinds, which takes a first_position that does not come first.
std::optional<TokenRelation> composed(const TokenRelation& outer, const TokenRelation& inner);
/// What outputs depend on by one way or the other; both of the same lengths.
std::optional<TokenRelation> united(const TokenRelation& a, const TokenRelation& b);

}  // namespace qfs::native

namespace qfs {
template <>
inline constexpr EnumNames<native::RelationKind, 4> enum_names<native::RelationKind>{{
    {native::RelationKind::all, "all"},
    {native::RelationKind::same_position, "same_position"},
    {native::RelationKind::prefix, "prefix"},
    {native::RelationKind::none, "none"},
}};
}  // namespace qfs
