// The points of a sweep, each with the configuration that it stands for. A point is one variant at
// one value of each axis with one notion of equality.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "sim/config/run_config.hpp"
#include "sim/sweep/point_figures.hpp"
#include "sim/sweep/sweep_config.hpp"

namespace qfs {

struct SweepPoint {
  std::vector<std::size_t> values;  // by axis: index
  std::size_t variant = 0;
  Equal equal = Equal::wave;
  std::size_t batch = 0;  // of a wave; 0: cannot be
  std::size_t in_flight = 1;
  std::string refused;  // why it cannot be, or how its run failed, in one line
  bool failed = false;  // its run did
  Bytes resident_kv;    // of all requests, at the end
  PointFigures figures;
};

struct PlannedPoint {
  SweepPoint point;
  std::optional<RunConfig> run;  // none: refused
};

/// By equality, then axes (the last runs fastest), then variant. What keeps a point from being,
/// such as a cache that does not fit, is noted in it. ConfigError for what is a mistake in any one
/// of them, such as a key that does not exist, and for what keeps all of them from being.
std::vector<PlannedPoint> plan_points(const SweepConfig& sweep);

}  // namespace qfs
