// What the keys of a DRAM may not be together.
#pragma once

#include <string>

#include "hardware/memory/dram/config.hpp"
#include "sim/config/tree.hpp"

namespace qfs::config {

/// ConfigError for the first contradiction. `path` is where the memory's keys stand in the tree.
void check_dram(const ConfigNode& root, const std::string& path, const dram::DramConfig& config);

}  // namespace qfs::config
