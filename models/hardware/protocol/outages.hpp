// When a pool instance stands still, and when it dies. Pure functions of the configuration.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "hardware/disturbances.hpp"

namespace qfs {

class Outages {
 public:
  Outages() = default;  // none
  /// Those of `faults` that strike this instance; stalls may overlap.
  Outages(const std::vector<InstanceFault>& faults, std::size_t instance);

  [[nodiscard]] bool any() const { return death_.has_value() || !stalls_.empty(); }
  [[nodiscard]] std::optional<Femtoseconds> death() const { return death_; }
  [[nodiscard]] bool dead(Femtoseconds time) const { return death_ && *death_ <= time; }
  /// The earliest time from `time` on that lies in no stall.
  [[nodiscard]] Femtoseconds resumes(Femtoseconds time) const;
  /// When a launch really ends that began at `start`, outside of any stall, and would have ended at
  /// `end`.
  [[nodiscard]] Femtoseconds end_of_launch(Femtoseconds start, Femtoseconds end) const;

 private:
  struct Stall {
    Femtoseconds from;
    Femtoseconds to;
  };
  std::vector<Stall> stalls_;  // by time, apart from each other
  std::optional<Femtoseconds> death_;
};

}  // namespace qfs
