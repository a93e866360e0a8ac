// Between the ticks of a memory and simulated time.
#pragma once

#include <cmath>

#include "base/units.hpp"
#include "hardware/memory/dram/command.hpp"
#include "hardware/memory/dram/config.hpp"

namespace qfs::dram {

class TickClock {
 public:
  explicit TickClock(const Timing& timing)
      : seconds_(timing.clock.value() / static_cast<double>(timing.ticks_per_clock)) {}

  [[nodiscard]] Seconds tick() const { return Seconds(seconds_); }
  [[nodiscard]] Femtoseconds time_of(Tick at) const {
    return to_femtoseconds(Seconds(static_cast<double>(at) * seconds_));
  }
  /// The first at or after it.
  [[nodiscard]] Tick tick_at(Femtoseconds time) const {
    constexpr double rounding = 1e-6;  // of a tick: whole ticks stay what they are
    return static_cast<Tick>(std::ceil(to_seconds(time).value() / seconds_ - rounding));
  }

 private:
  double seconds_;
};

}  // namespace qfs::dram
