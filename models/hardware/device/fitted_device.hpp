// A device whose kernels were measured and fitted: whose they are, what they cost, and how the
// clock of the measurement showed it.
#pragma once

#include <string>

#include "base/units.hpp"
#include "hardware/device/cost_model.hpp"

namespace qfs {

/// How the clock of a measurement shows a time. One that advances in ticks pulls times towards its
/// own; it belongs to the measurement, not to the device, and nothing simulated sees it.
struct MeasuringClock {
  Seconds tick{0};   // 0: a fine clock
  Seconds phase{0};  // of the times that it shows unchanged
};

struct FittedDevice {
  std::string device;  // whose rows it was fitted to
  DeviceCost cost;
  MeasuringClock sweep_clock;
};

}  // namespace qfs
