// Every point of a sweep, timed. A point is one variant at one value of each axis with one notion
// of equality.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "sim/sweep/sweep_config.hpp"

namespace qfs {

/// Averages over the requests; what is left out of a step is the first token's.
struct SweepTimes {
  double step_us = 0;        // of the first token, of the wave that is first
  double tpot_us = 0;        // mean over the requests
  double worst_tpot_us = 0;  // of any of them
  double tokens_per_s = 0;   // of all of them
};

struct SweepPoint {
  std::vector<std::size_t> values;  // by axis: index
  std::size_t variant = 0;
  Equal equal = Equal::wave;
  std::size_t batch = 0;  // of a wave; 0: cannot be
  std::size_t in_flight = 1;
  std::string refused;  // why it cannot be, in one line
  Bytes resident_kv;    // of all requests, at the end
  SweepTimes times;
};

struct SweepResult {
  SweepConfig config;
  std::vector<SweepPoint> points;  // by equality, then axes (the last runs fastest), then variant
};

/// Progress goes to stderr. What keeps a point from being, such as a cache that does not fit, is
/// noted there; what keeps all of them, such as a key that does not exist, is a ConfigError.
SweepResult run_sweep(const SweepConfig& config);

}  // namespace qfs
