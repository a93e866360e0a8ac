// Every point of a sweep, simulated.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/sweep/sweep_config.hpp"
#include "sim/sweep/sweep_points.hpp"

namespace qfs {

struct SweepResult {
  SweepConfig config;
  std::vector<SweepPoint> points;  // as plan_points orders them
  std::size_t simulations = 0;     // points of one configuration share one
};

/// Progress goes to stderr. Throws as plan_points does, before anything is simulated.
SweepResult run_sweep(const SweepConfig& config);

}  // namespace qfs
