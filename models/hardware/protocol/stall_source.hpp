// Random stalls of one place: a device's launches, a device's writes, a port.
#pragma once

#include <cstdint>

#include "base/random.hpp"
#include "base/units.hpp"
#include "hardware/disturbances.hpp"

namespace qfs {

/// Streams of random numbers for one resource of the table: what they are for, then where.
enum class DrawFor : std::uint64_t { stall = 1, loss = 2, lateness = 3 };
inline Random random_of(std::uint64_t seed, DrawFor purpose, std::size_t resource) {
  return {seed, (static_cast<std::uint64_t>(purpose) << 32U) + resource};
}

class StallSource {
 public:
  StallSource(const Stalls& stalls, std::size_t resource)
      : stalls_(stalls), random_(random_of(stalls.seed, DrawFor::stall, resource)) {}

  /// How long to stand still now; mostly not at all.
  Seconds next() {
    if (stalls_.probability == 0) {
      return Seconds(0);
    }
    const std::uint64_t draw = 2 * drawn_++;
    const bool stalls = random_.uniform(draw) < stalls_.probability;
    return stalls ? random_.uniform(draw + 1) * stalls_.longest : Seconds(0);
  }

 private:
  Stalls stalls_;
  Random random_;
  std::uint64_t drawn_ = 0;
};

}  // namespace qfs
