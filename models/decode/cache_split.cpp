#include "decode/cache_split.hpp"

#include <algorithm>
#include <numeric>

#include "decode/draw.hpp"

namespace qfs {

ShardPlan::ShardPlan(const CacheSplit& split, std::size_t request, std::size_t context,
                     std::size_t tokens)
    : split_(split),
      context_(context),
      random_(split.seed, stream_of(StreamOwner::split, request, 0)) {
  if (split.by == SplitBy::any) {
    draw_shares();
  }
  std::vector<std::size_t> rows = initial_rows();
  rows_ = rows;
  for (std::size_t token = 0; token < tokens; ++token) {
    const auto shortest = std::min_element(rows.begin(), rows.end());
    append_to_.push_back(static_cast<std::size_t>(shortest - rows.begin()));
    for (std::size_t shard = 0; shard < rows.size(); ++shard) {
      rows[shard] += takes_append(shard, token) ? 1 : 0;
    }
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }
}

/// Each device gets a random share, some none; then every position goes to a device by those
/// shares.
void ShardPlan::draw_shares() {
  double sum = 0;
  for (std::size_t shard = 0; shard < split_.devices; ++shard) {
    const double share = random_.uniform(shard);
    sum += share < 0.25 ? 0 : share;
    shares_up_to_.push_back(sum);
  }
}

std::size_t ShardPlan::drawn_shard(std::size_t position) const {
  const double drawn = shares_up_to_.back() * random_.uniform(split_.devices + position);
  const auto after = std::upper_bound(shares_up_to_.begin(), shares_up_to_.end(), drawn);
  const auto shard = static_cast<std::size_t>(after - shares_up_to_.begin());
  return std::min(shard, split_.devices - 1);
}

/// Of the contiguous range of a split by positions.
std::size_t ShardPlan::first_position(std::size_t shard) const {
  return shard * context_ / split_.devices;
}

std::vector<std::size_t> ShardPlan::initial_rows() const {
  std::vector<std::size_t> rows(split_.devices, split_.by == SplitBy::heads ? context_ : 0);
  if (split_.by == SplitBy::positions) {
    for (std::size_t shard = 0; shard < split_.devices; ++shard) {
      rows[shard] = first_position(shard + 1) - first_position(shard);
    }
  } else if (split_.by == SplitBy::any) {
    for (std::size_t position = 0; position < context_; ++position) {
      ++rows[drawn_shard(position)];
    }
  }
  return rows;
}

std::vector<std::size_t> ShardPlan::initial(std::size_t shard) const {
  std::vector<std::size_t> positions(rows(shard, 0));
  if (split_.by == SplitBy::any) {
    auto next = positions.begin();
    for (std::size_t position = 0; position < context_; ++position) {
      if (drawn_shard(position) == shard) {
        *next++ = position;
      }
    }
    return positions;
  }
  std::iota(positions.begin(), positions.end(),
            split_.by == SplitBy::positions ? first_position(shard) : std::size_t{0});
  return positions;
}

}  // namespace qfs
