// How many rows of each request of one wave lie on each cache device, step by step; DESIGN.md 5.
// Re-derived here from its rules, without models/decode's own plan.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/parameters.hpp"

namespace qfs {

class ShardRows {
 public:
  /// Before the first token: by heads, all rows on every device; by positions, the range
  /// [s n/c, (s+1) n/c) on device s of c, in integer division; any: parameters.scattered_rows.
  ShardRows(const AnalyticParameters& parameters, std::size_t wave);

  /// By member of the wave, before this step's append.
  [[nodiscard]] const std::vector<std::size_t>& before(std::size_t shard) const {
    return rows_[shard];
  }
  /// Likewise, after it.
  [[nodiscard]] std::vector<std::size_t> after(std::size_t shard) const;
  /// The members whose row of this step goes to the shard: it has the fewest rows of them, and the
  /// lowest index among equals; by heads every member, to every shard.
  [[nodiscard]] std::vector<std::size_t> takers(std::size_t shard) const;
  void end_step();

 private:
  [[nodiscard]] bool takes(std::size_t shard, std::size_t member) const;

  bool by_heads_;
  std::vector<std::vector<std::size_t>> rows_;  // by shard and member
};

}  // namespace qfs
