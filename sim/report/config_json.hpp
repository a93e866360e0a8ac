// The part of summary.json that says what was run.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/config/run_config.hpp"

namespace qfs {

/// Every key of the configuration with the unit in its name (null: unlimited, or does not apply),
/// and what is known about the block orders that were run.
nlohmann::ordered_json config_json(const RunConfig& config);

}  // namespace qfs
