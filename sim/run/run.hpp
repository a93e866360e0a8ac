// A whole run: every point of a configuration, timed, and the main one with real numbers.
#pragma once

#include "sim/config/run_config.hpp"
#include "sim/run/result.hpp"

namespace qfs {

/// Progress goes to stderr. Throws ConfigError if the numeric part does not fit the memory of this
/// machine.
RunResult run(const RunConfig& config);

}  // namespace qfs
