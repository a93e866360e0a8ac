// How bursts go by: ticks against bursts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hardware/memory/dram/command.hpp"

namespace qfs::dram {

/// A rising line through samples, one every few bursts, that goes on with the slope of its last
/// half, or, of a periodic one, as in the periods of its last half. Ticks count from some start at
/// which nothing had been done.
class Course {
 public:
  static constexpr std::size_t grain = 8;  // bursts from one sample to the next

  Course() = default;
  /// Ticks at which burst 1, 2, ... was issued, never falling; at least two grains of them.
  explicit Course(std::span<const Tick> issued);
  /// `period` a multiple of a grain, at most half of the bursts.
  Course(std::span<const Tick> issued, std::size_t period);

  [[nodiscard]] double ticks(double bursts) const;
  [[nodiscard]] double bursts(double ticks) const;
  /// For `bursts` from a start at `phase`: that much of what the course begins with was done
  /// before.
  [[nodiscard]] double ticks_from(double phase, double bursts) const {
    return at_.front() + ticks(phase + bursts) - ticks(phase);
  }
  /// Bursts by then after a start at `phase`.
  [[nodiscard]] double bursts_from(double phase, double ticks_since) const {
    return bursts(ticks_since - at_.front() + ticks(phase)) - phase;
  }
  [[nodiscard]] double slope() const { return slope_; }

 private:
  std::vector<double> at_;  // by grains
  double slope_ = 1;        // ticks a burst
  double period_ = 0;       // bursts; or 0
};

}  // namespace qfs::dram
