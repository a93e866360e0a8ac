#include "decode/cache_split.hpp"

#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "decode/draw.hpp"

namespace qfs {
namespace {

using Shards = std::vector<std::vector<std::size_t>>;

Shards contiguous(std::size_t devices, std::size_t context) {
  Shards shards(devices);
  for (std::size_t shard = 0; shard < devices; ++shard) {
    const std::size_t begin = shard * context / devices;
    shards[shard].resize((shard + 1) * context / devices - begin);
    std::iota(shards[shard].begin(), shards[shard].end(), begin);
  }
  return shards;
}

/// Each device gets a random share, some none; then every position goes to a device by those
/// shares.
Shards scattered(const CacheSplit& split, std::size_t request, std::size_t context) {
  const Random random(split.seed, stream_of(StreamOwner::split, request, 0));
  std::vector<double> up_to(split.devices);  // running sum of the shares
  double sum = 0;
  for (std::size_t shard = 0; shard < split.devices; ++shard) {
    const double share = random.uniform(shard);
    sum += share < 0.25 ? 0 : share;
    up_to[shard] = sum;
  }
  Shards shards(split.devices);
  for (std::size_t position = 0; position < context; ++position) {
    const double drawn = sum * random.uniform(split.devices + position);
    const auto after = std::upper_bound(up_to.begin(), up_to.end(), drawn);
    const auto shard = static_cast<std::size_t>(after - up_to.begin());
    shards[std::min(shard, split.devices - 1)].push_back(position);
  }
  return shards;
}

}  // namespace

ShardPlan::ShardPlan(const CacheSplit& split, std::size_t request, std::size_t context,
                     std::size_t tokens)
    : by_heads_(split.by == SplitBy::heads) {
  if (by_heads_) {
    const Shards whole = contiguous(1, context);
    initial_.assign(split.devices, whole.front());
    return;
  }
  initial_ = split.by == SplitBy::positions ? contiguous(split.devices, context)
                                            : scattered(split, request, context);
  for (std::size_t token = 0; token < tokens; ++token) {
    std::size_t shortest = 0;
    for (std::size_t shard = 1; shard < split.devices; ++shard) {
      shortest = rows(shard, token) < rows(shortest, token) ? shard : shortest;
    }
    append_to_.push_back(shortest);
  }
}

std::size_t ShardPlan::rows(std::size_t shard, std::size_t token) const {
  if (by_heads_) {
    return initial_[shard].size() + token;
  }
  const auto appended = std::count(append_to_.begin(),
                                   append_to_.begin() + static_cast<std::ptrdiff_t>(token), shard);
  return initial_[shard].size() + static_cast<std::size_t>(appended);
}

}  // namespace qfs
