// How the KV cache of every request is divided over cache devices: by heads, or by positions in any
// way (001 section 5: partial results merge whatever the split).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/enum_names.hpp"
#include "base/random.hpp"

namespace qfs {

enum class SplitBy {
  heads,      // each device holds all positions of its share of the KV heads
  positions,  // each device holds all heads of a contiguous range of positions, as even as can be
  any,        // each device holds all heads of a random set of positions: uneven, maybe empty
};

template <>
inline constexpr EnumNames<SplitBy, 3> enum_names<SplitBy>{{
    {SplitBy::heads, "heads"},
    {SplitBy::positions, "positions"},
    {SplitBy::any, "any"},
}};

/// In which order the partial results of the shards are merged. It moves no time, only the last
/// bits of the result.
enum class MergeOrder {
  fixed,    // by device: bit-reproducible
  arrival,  // as they come in
  tree,     // pairs of neighbours, then pairs of pairs: bit-reproducible
};

template <>
inline constexpr EnumNames<MergeOrder, 3> enum_names<MergeOrder>{{
    {MergeOrder::fixed, "fixed"},
    {MergeOrder::arrival, "arrival"},
    {MergeOrder::tree, "tree"},
}};

struct CacheSplit {
  std::size_t devices = 1;
  SplitBy by = SplitBy::positions;
  MergeOrder merge = MergeOrder::fixed;
  std::uint64_t seed = 1;  // of `any`
  bool operator==(const CacheSplit&) const = default;
};

/// The shards of one request, alike in every layer: which of the initial positions each holds, and
/// who takes the rows to come. An append goes to the shortest shard, the lowest index among equals.
/// Costs nothing that grows with the context, but split by `any`, where every position is drawn.
class ShardPlan {
 public:
  /// Of a cache of `context` rows split by positions (for `heads` every shard holds all of them).
  ShardPlan(const CacheSplit& split, std::size_t request, std::size_t context, std::size_t tokens);

  /// Ascending; together, each position below `context` once (`heads`: each shard all of them).
  [[nodiscard]] std::vector<std::size_t> initial(std::size_t shard) const;
  /// Whether the row of step `token` is appended to this shard.
  [[nodiscard]] bool takes_append(std::size_t shard, std::size_t token) const {
    return split_.by == SplitBy::heads || append_to_[token] == shard;
  }
  /// Rows of the shard before the append of step `token` (`token` may be one past the last step).
  [[nodiscard]] std::size_t rows(std::size_t shard, std::size_t token) const {
    return rows_[token * split_.devices + shard];
  }

 private:
  void draw_shares();
  [[nodiscard]] std::size_t first_position(std::size_t shard) const;
  [[nodiscard]] std::size_t drawn_shard(std::size_t position) const;
  [[nodiscard]] std::vector<std::size_t> initial_rows() const;

  CacheSplit split_;
  std::size_t context_;
  Random random_;                       // of `any`
  std::vector<double> shares_up_to_;    // of `any`: running sum of the shards' shares
  std::vector<std::size_t> append_to_;  // by token: shard
  std::vector<std::size_t> rows_;       // by token and shard
};

}  // namespace qfs
