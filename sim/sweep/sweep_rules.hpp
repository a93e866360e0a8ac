// What a sweep's file says about its points as a whole: which are skipped, what is derived from
// their figures, and what is sought.
//
//   constraints:
//     - skip: {workload.batch: {above: 64}, workload.context: [1 Mi, 4 Mi], variant: pooled}
//       because: more than a rack holds
//   derived: {gain: {speed_up: tpot_us, baseline: standard}}
//   objectives: [{minimise: tpot_us}, {maximise: gain}]
//
// A condition is a value of the axis, a list of values, or bounds (above, below, at_least, at_most)
// of an axis of numbers. A constraint that holds nowhere is a mistake.
#pragma once

#include "sim/config/tree.hpp"
#include "sim/sweep/sweep_config.hpp"

namespace qfs::config {

/// After the axes and variants. ConfigError for a mistake.
void read_rules(const ConfigNode& root, SweepConfig& sweep);

}  // namespace qfs::config
