// From a fitted device's YAML file or preset to its numbers, and back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hardware/device/fitted_device.hpp"

namespace qfs {

/// A time as the clock shows it.
Seconds shown_by(const MeasuringClock& clock, Seconds time);

/// Reads and checks a file. Everything that is wrong is a ConfigError of one line.
FittedDevice load_fitted(const std::filesystem::path& file);
/// The same from a preset of configs/fitted or a file: a name that ends in .yaml or has a folder is
/// a file.
FittedDevice load_fitted_named(const std::string& name, const std::filesystem::path& start = {});

/// All keys, with units; loading it gives equal numbers.
std::string to_yaml(const FittedDevice& device);

}  // namespace qfs
