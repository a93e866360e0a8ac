// What the devices are to execute: the graph, who executes which operation, and which operations go
// together.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.hpp"
#include "decode/graph.hpp"
#include "decode/work.hpp"

namespace qfs {

/// Operations of different requests with one batch key can share a launch.
struct BatchKey {
  OpKind kind = OpKind::embed;
  LayerId layer;
  StepId step;
  auto operator<=>(const BatchKey&) const = default;
};
inline BatchKey batch_key(const Operation& operation) {
  return {operation.kind, operation.layer, operation.step};
}

struct Program {
  Graph graph;
  CountingRules rules;
  std::size_t wave = 1;                          // requests that move through the layers together
  std::vector<DeviceId> device_of;               // by operation
  std::vector<std::vector<Consumer>> consumers;  // by operation: who waits for it
  std::vector<std::size_t> awaited_inputs;       // by operation: for how many inputs it waits
  /// By operation: another device waits for the result in this step, so that it goes first.
  std::vector<bool> awaited_elsewhere;
};

}  // namespace qfs
