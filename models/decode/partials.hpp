// Merging what the shards of a split cache return (001 section 5).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "decode/cache_split.hpp"

namespace qfs {

/// The state of a softmax over some positions: o of every head (head_dim values each), lse of every
/// head; o of a head with lse = -infinity is not to be read.
struct Partial {
  std::vector<float> o;
  std::vector<float> lse;
};

/// One state over all positions. `partials`: at least one, over the same heads, each position in
/// one of them; `fixed` and `arrival` merge them in the order given, one after the other.
Partial merge_shards(std::span<const Partial> partials, MergeOrder order);

/// States over different heads of the same positions, put side by side.
Partial join_heads(std::span<const Partial> partials);

}  // namespace qfs
