// What no key can know alone: whether the keys fit each other, and whether the run fits its devices
// and its clock.
#pragma once

#include <functional>
#include <string_view>

#include "sim/config/complaint.hpp"
#include "sim/config/run_config.hpp"

namespace qfs::config {

/// Gives the place of a key in the user's input.
using Locate = std::function<Where(std::string_view path)>;

/// ConfigError for the first contradiction. Assumes that each value is in its own range.
void validate(const RunConfig& run, const Locate& locate);

}  // namespace qfs::config
