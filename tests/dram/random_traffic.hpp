// Seeded mixes of transactions: sizes over several decades, strides, both directions, pauses, and
// several streams.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "hardware/memory/dram/config.hpp"
#include "hardware/memory/dram/transaction.hpp"

namespace qfs::test {

inline dram::Transaction random_transaction(const Random& random, std::uint64_t at,
                                            double capacity) {
  dram::Transaction one;
  // Two in three near one of eight places: rows are met again.
  const double place = random.below(at, 3) == 0 ? random.uniform(at + 1)
                                                : static_cast<double>(random.below(at + 1, 8)) / 8 +
                                                      random.uniform(at + 2) * 1e-6;
  one.address = static_cast<std::uint64_t>(place * capacity * 0.99);
  one.length = Bytes(static_cast<std::int64_t>(std::exp2(random.uniform(at + 3, 0, 14))));
  if (random.below(at + 4, 4) == 0) {
    one.piece = 1 + random.below(at + 5, 256);
    one.stride = one.piece + random.below(at + 6, 4096);
  }
  const bool writes = random.below(at + 7, 3) == 0;
  one.direction = writes ? dram::Direction::write : dram::Direction::read;
  one.stream = random.below(at + 8, 3);
  return one;
}

/// Arrivals rise; now and then there is a pause.
inline std::vector<dram::Transaction> random_traffic(const dram::DramConfig& config,
                                                     std::uint64_t seed, std::size_t count) {
  constexpr std::uint64_t draws = 16;  // of a transaction
  const Random random(seed, 5);
  const auto capacity = static_cast<double>(config.organisation.capacity().value());
  std::vector<dram::Transaction> traffic;
  double arrival = 0;  // seconds
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t at = i * draws;
    traffic.push_back(random_transaction(random, at, capacity));
    const bool pauses = random.below(at + 9, 10) == 0;
    arrival += random.uniform(at + 10) * (pauses ? 5e-6 : 1e-7);
    traffic.back().arrival = to_femtoseconds(Seconds(arrival));
  }
  return traffic;
}

}  // namespace qfs::test
