// By what a sweep knows its points and results again.
#pragma once

#include <string>

#include "sim/config/run_config.hpp"
#include "sim/sweep/result_store.hpp"
#include "sim/sweep/sweep.hpp"

namespace qfs {

/// Digest of all that a run's figures follow from: its resolved configuration, what the sweep
/// simulates of it, and the program.
std::string key_of(const SweepConfig& config, RunConfig run);

StoreIdentity identity_of(const SweepConfig& config, const Shard& shard);

}  // namespace qfs
