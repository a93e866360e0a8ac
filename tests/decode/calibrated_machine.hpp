// A graph executed in program order on a compute device and the cache devices of a split cache,
// values passed on as messages do: the numbers of a simulation without its time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decode/check.hpp"
#include "decode/device_numerics.hpp"
#include "decode/faulty_numerics.hpp"

namespace qfs::test {

class Machine {
 public:
  /// All references outlive it.
  Machine(const Graph& graph, const Inputs& inputs, const GraphConfig& config,
          const Fault& fault = {})
      : graph_(graph), log_(graph.operations.size()) {
    AttentionMethod attention;
    attention.softmax = config.softmax;
    Holdings compute;
    for (const auto& [kind, name] : enum_names<OpKind>) {
      compute.operations.insert(kind);
    }
    compute.merge = config.split.merge;
    devices_.push_back(std::make_unique<DeviceNumerics>(graph, inputs, compute, attention));
    for (std::size_t shard = 0; shard < config.split.devices; ++shard) {
      Holdings cache;
      cache.shard = shard;
      cache.split = config.split;
      devices_.push_back(std::make_unique<FaultyNumerics>(graph, inputs, cache, attention, fault));
    }
  }

  NumericLog run() {
    for (const Operation& operation : graph_.operations) {
      DeviceNumerics& device = device_of(operation);
      for (const Edge& edge : operation.inputs) {
        fetch(edge, device);
      }
      const Operation* member = &operation;
      log_.note(operation.id, device.store(operation, device.compute({&member, 1}).front()));
    }
    return log_;
  }

 private:
  DeviceNumerics& device_of(const Operation& operation) {
    const bool on_shard = is_of_sweep(operation.kind) || operation.kind == OpKind::append;
    return *devices_[on_shard ? 1 + operation.shard : 0];
  }

  void fetch(const Edge& edge, DeviceNumerics& to) {
    const Operation& producer = graph_[edge.from];
    DeviceNumerics& from = device_of(producer);
    if (&from != &to) {
      std::vector<std::byte> payload;
      from.send(producer, carried(edge), payload);
      to.receive(producer, carried(edge), payload);
    }
  }

  const Graph& graph_;
  NumericLog log_;
  std::vector<std::unique_ptr<DeviceNumerics>> devices_;
};

/// Every unit with every reconstruction that it has.
inline std::vector<SoftmaxUnit> calibrated_units() {
  std::vector<SoftmaxUnit> units;
  for (const auto& [kind, kind_name] : enum_names<SoftmaxKind>) {
    if (kind == SoftmaxKind::exact) {
      continue;
    }
    units.push_back({.kind = kind});
    if (has_grid(kind)) {
      units.push_back({.kind = kind, .reconstruction = Reconstruction::nearest});
    }
  }
  return units;
}

inline std::string text_of(const SoftmaxUnit& unit) {
  std::string text(name_of(unit.kind));
  return has_grid(unit.kind) ? text + " " + std::string(name_of(unit.reconstruction)) : text;
}

}  // namespace qfs::test
