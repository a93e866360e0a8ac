// The choices that change which edges a layer has. What each order does is in layer_graph.cpp, a
// small function each.
#pragma once

#include "base/enum_names.hpp"

namespace qfs {

/// Order of the two sub-layers and the read points of q, k and v; 001 sections 6 and 8.
enum class BlockOrder {
  standard,   // y = x + A(x); out = y + M(y)
  swapped,    // z = x + M(x); out = z + A(z)
  early_q,    // as swapped, but the query reads x: the sweep can run beside the feed-forward
  early_k,    // as swapped, but the key reads x
  early_qk,   // as swapped, but query and key read x
  parallel,   // out = x + A(x) + M(x)
  shifted_q,  // as standard, but the query reads the stream before the previous layer's
              // feed-forward
  single_q,   // as standard, but every query reads the network's input
};

template <>
inline constexpr EnumNames<BlockOrder, 8> enum_names<BlockOrder>{{
    {BlockOrder::standard, "standard"},
    {BlockOrder::swapped, "swapped"},
    {BlockOrder::early_q, "early_q"},
    {BlockOrder::early_k, "early_k"},
    {BlockOrder::early_qk, "early_qk"},
    {BlockOrder::parallel, "parallel"},
    {BlockOrder::shifted_q, "shifted_q"},
    {BlockOrder::single_q, "single_q"},
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
