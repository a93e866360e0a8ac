// The part of summary.json that says what was run.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/config/run_config.hpp"

namespace qfs {

/// The essentials; the whole configuration is in config.yaml.
nlohmann::ordered_json config_json(const RunConfig& config);

}  // namespace qfs
