// The times of a run without simulating it: every operation, message and write of the layers as
// tasks of a list schedule, in double seconds. It is the independent twin of the simulator and
// shares no code with it; where both apply they must agree.
//
// Covers one wave of equal requests and the arrangements two_device and colocated. The semantics
// are DESIGN.md 4 to 6.
#pragma once

#include <vector>

#include "analysis/parameters.hpp"

namespace qfs {

struct AnalyticTimes {
  Seconds stack_time;               // the first token, from its input to the last layer's output
  std::vector<Seconds> step_times;  // per token, with the LM head if there is one
};

/// Needs tokens >= 1, batch >= 1 and a shape without fault.
AnalyticTimes two_device_times(const AnalyticParameters& parameters);
/// Everything on parameters.compute; the cache device and the link are not used.
AnalyticTimes colocated_times(const AnalyticParameters& parameters);

}  // namespace qfs
