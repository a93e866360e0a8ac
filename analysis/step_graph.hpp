// Every operation, message and write of a run as tasks of a list schedule, for any arrangement.
#pragma once

#include <vector>

#include "analysis/arrangement.hpp"
#include "analysis/list_schedule.hpp"
#include "analysis/parameters.hpp"
#include "analysis/topology.hpp"

namespace qfs {

struct StepGraph {
  AnalyticParameters parameters;  // without what the arrangement does not use
  ListSchedule schedule;
  Topology topology;
  ListSchedule::Tasks first_outputs;  // of the last layer; wave 0, token 0
  /// By wave and token: with the last of these its step ends.
  std::vector<std::vector<ListSchedule::Tasks>> ends;
};

/// Needs tokens, batch, in_flight and split.devices >= 1; a shape without fault; ranks that divide
/// heads, KV heads, ffn and vocabulary, at least 2 for tensor_parallel; cache devices that divide
/// the KV heads, if split by them; scattered_rows of every request, if split by `any`.
StepGraph step_graph(AnalyticArrangement arrangement, const AnalyticParameters& parameters);

}  // namespace qfs
