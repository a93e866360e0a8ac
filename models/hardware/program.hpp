// What the devices are to execute: the graph, who executes which operation, and which operations go
// together.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.hpp"
#include "decode/graph.hpp"
#include "decode/work.hpp"

namespace qfs {

/// The operations of one batch key (kind, layer) in one step of a wave: one launch once all members
/// are ready.
struct Batch {
  OpKind kind = OpKind::embed;
  LayerId layer;
  StepId step;
  DeviceId device;
  std::vector<OpId> members;
  /// Another device waits for the result in this step: such a batch goes first.
  bool awaited_elsewhere = false;
};

struct Program {
  Graph graph;
  CountingRules rules;
  std::vector<DeviceId> device_of;               // by operation
  std::vector<std::size_t> batch_of;             // by operation, index into batches
  std::vector<std::vector<Consumer>> consumers;  // by operation: who waits for it
  std::vector<std::size_t> awaited_inputs;       // by operation: for how many inputs it waits
  std::vector<Batch> batches;
};

}  // namespace qfs
