#include "sim/report/waves.hpp"

#include <algorithm>

namespace qfs {

bool WaveRequests::takes_part_in(const Row& row) const {
  return std::any_of(row.members.begin(), row.members.end(),
                     [this](const Member& member) { return contains(member.request); });
}

std::vector<WaveRequests> waves_of(std::size_t waves, std::size_t count) {
  std::vector<WaveRequests> all;
  for (std::size_t wave = 0; wave < waves; ++wave) {
    all.push_back({RequestId(wave * count), count});
  }
  return all;
}

WaveRows rows_of(const ExecutionTable& table, const WaveRequests& wave) {
  WaveRows rows;
  for (const Row& row : table.rows) {
    if (wave.takes_part_in(row)) {
      rows.push_back(&row);
    }
  }
  return rows;
}

std::vector<WaveRows> rows_by_wave(const ExecutionTable& table, std::size_t waves,
                                   std::size_t count) {
  std::vector<WaveRows> rows(waves);
  for (const Row& row : table.rows) {
    for (const Member& member : row.members) {
      WaveRows& own = rows.at(member.request.value() / count);
      if (own.empty() || own.back() != &row) {
        own.push_back(&row);
      }
    }
  }
  return rows;
}

}  // namespace qfs
