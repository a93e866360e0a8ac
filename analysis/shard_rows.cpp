#include "analysis/shard_rows.hpp"

#include <cassert>

namespace qfs {

ShardRows::ShardRows(const AnalyticParameters& parameters, std::size_t wave)
    : by_heads_(parameters.split.by == SplitBy::heads), rows_(parameters.split.devices) {
  const std::size_t c = rows_.size();
  const bool scattered = parameters.split.by == SplitBy::any && c > 1;
  for (std::size_t shard = 0; shard < c; ++shard) {
    for (std::size_t member = 0; member < parameters.batch; ++member) {
      const std::size_t n = parameters.context_of(member);
      const std::size_t even = (shard + 1) * n / c - shard * n / c;
      const std::size_t request = wave * parameters.batch + member;
      assert(!scattered || request < parameters.scattered_rows.size());
      rows_[shard].push_back(scattered   ? parameters.scattered_rows[request].at(shard)
                             : by_heads_ ? n
                                         : even);
    }
  }
}

bool ShardRows::takes(std::size_t shard, std::size_t member) const {
  if (by_heads_) {
    return true;
  }
  for (std::size_t other = 0; other < rows_.size(); ++other) {
    const std::size_t there = rows_[other][member];
    const std::size_t here = rows_[shard][member];
    if (there < here || (there == here && other < shard)) {
      return false;
    }
  }
  return true;
}

std::vector<std::size_t> ShardRows::takers(std::size_t shard) const {
  std::vector<std::size_t> members;
  for (std::size_t member = 0; member < rows_[shard].size(); ++member) {
    if (takes(shard, member)) {
      members.push_back(member);
    }
  }
  return members;
}

std::vector<std::size_t> ShardRows::after(std::size_t shard) const {
  std::vector<std::size_t> rows = rows_[shard];
  for (const std::size_t member : takers(shard)) {
    ++rows[member];
  }
  return rows;
}

void ShardRows::end_step() {
  std::vector<std::vector<std::size_t>> next;
  for (std::size_t shard = 0; shard < rows_.size(); ++shard) {
    next.push_back(after(shard));
  }
  rows_ = next;
}

}  // namespace qfs
