// From a fitted device's YAML file or preset to its numbers, and back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hardware/device/cost_model.hpp"

namespace qfs {

/// How the clock of a measurement shows a time. One that advances in ticks pulls times towards its
/// own; it belongs to the measurement, not to the device, and nothing simulated sees it.
struct MeasuringClock {
  Seconds tick{0};   // 0: a fine clock
  Seconds phase{0};  // of the times that it shows unchanged
};
Seconds shown_by(const MeasuringClock& clock, Seconds time);

struct FittedDevice {
  std::string device;  // whose rows it was fitted to
  DeviceCost cost;
  MeasuringClock sweep_clock;
};

/// Reads and checks a file. Everything that is wrong is a ConfigError of one line. Without a
/// section `narrow_product`, fp8 weights cost what `product` says of their bytes; a missing sweep
/// or product is ideal.
FittedDevice load_fitted(const std::filesystem::path& file);
/// The same from a preset of configs/fitted or a file: a name that ends in .yaml or has a folder is
/// a file.
FittedDevice load_fitted_named(const std::string& name, const std::filesystem::path& start = {});

/// All keys, with units; loading it gives equal numbers.
std::string to_yaml(const FittedDevice& device);

}  // namespace qfs
