// The choices that change which edges a layer has. What each order does is in layer_graph.cpp, a
// small function each.
#pragma once

#include "base/enum_names.hpp"

namespace qfs {

/// Order of the two sub-layers and the read point of the query; 001 section 6.
enum class BlockOrder {
  standard,  // y = x + A(x); out = y + M(y)
  swapped,   // z = x + M(x); out = z + A(z)
  early_q,   // as swapped, but the query reads x: the sweep can run beside the feed-forward
};

template <>
inline constexpr EnumNames<BlockOrder, 3> enum_names<BlockOrder>{{
    {BlockOrder::standard, "standard"},
    {BlockOrder::swapped, "swapped"},
    {BlockOrder::early_q, "early_q"},
}};

/// When the current token's key and value join the attention.
enum class CurrentToken {
  merge,         // sweep the n cached positions, fold the current token in afterwards
  append_first,  // append k and v, then sweep n + 1 positions
};

template <>
inline constexpr EnumNames<CurrentToken, 2> enum_names<CurrentToken>{{
    {CurrentToken::merge, "merge"},
    {CurrentToken::append_first, "append_first"},
}};

}  // namespace qfs
