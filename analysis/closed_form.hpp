// The times of a run without simulating it: every operation, message and write of the layers as
// tasks of a list schedule, in double seconds. It is the independent twin of the simulator and
// shares no code with it; where both apply they must agree.
//
// Covers waves of equal requests that share the devices, all arrangements, of pools those of one
// instance, and caches split over devices of equal parameters. The semantics are DESIGN.md 4 to 6.
#pragma once

#include <vector>

#include "analysis/arrangement.hpp"
#include "analysis/parameters.hpp"

namespace qfs {

struct AnalyticTimes {
  Seconds stack_time;  // wave 0, the first token, from its input to the last layer's output
  std::vector<Seconds> step_times;  // wave 0, per token, with the LM head if there is one
  /// By wave and token, from the start of the run.
  std::vector<std::vector<Seconds>> wave_step_ends;
};

/// Needs what step_graph.hpp asks of the parameters.
AnalyticTimes analytic_times(AnalyticArrangement arrangement, const AnalyticParameters& parameters);

AnalyticTimes two_device_times(const AnalyticParameters& parameters);
/// Everything on parameters.compute; the cache device and the link are not used.
AnalyticTimes colocated_times(const AnalyticParameters& parameters);
/// parameters.compute is the pool's device.
AnalyticTimes pooled_times(const AnalyticParameters& parameters);
/// parameters.compute is each rank's device.
AnalyticTimes tensor_parallel_times(const AnalyticParameters& parameters);

}  // namespace qfs
