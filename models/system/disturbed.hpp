// What disturbances mean for the devices of a layout.
#pragma once

#include <string>

#include "hardware/config.hpp"
#include "hardware/disturbances.hpp"
#include "system/layout.hpp"

namespace qfs {

/// Throws ConfigError if this system cannot be disturbed so, or could not bear it: an unknown
/// device, an instance of a pool that there is not, lost messages or dead instances without the
/// time-out by which they would be noticed, a number out of its range.
void require_possible(const Disturbances& disturbances, const Layout& layout);

/// The device of this name as slow as the disturbances make it.
DeviceConfig slowed(DeviceConfig config, const Disturbances& disturbances, const std::string& name);

}  // namespace qfs
