// Which rows of a table belong to which wave: the requests that move through the layers together.
#pragma once

#include <cstddef>
#include <vector>

#include "hardware/execution_table.hpp"

namespace qfs {

/// The requests [first, first + count).
struct WaveRequests {
  RequestId first;
  std::size_t count = 1;

  [[nodiscard]] bool contains(RequestId request) const {
    return request.value() >= first.value() && request.value() < first.value() + count;
  }
  [[nodiscard]] bool takes_part_in(const Row& row) const;
};

/// `waves` waves of `count` requests each.
std::vector<WaveRequests> waves_of(std::size_t waves, std::size_t count);

/// Rows of one table in its order; valid while it lives.
using WaveRows = std::vector<const Row*>;

WaveRows rows_of(const ExecutionTable& table, const WaveRequests& wave);
/// The same of each of `waves` waves of `count` requests, in one pass. A row that several waves
/// share is every one's.
std::vector<WaveRows> rows_by_wave(const ExecutionTable& table, std::size_t waves,
                                   std::size_t count);

}  // namespace qfs
