#include "system/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"

namespace qfs {
namespace {

constexpr std::size_t compute_device = 0;
constexpr std::size_t cache_device = 1;

bool at(const Fault& fault, const Operation& operation) {
  return fault.layer == operation.layer && fault.step == operation.step;
}

bool dropped(const Fault& fault, const Operation& consumer, ValueKind value) {
  return fault.kind == FaultKind::drop_edge && at(fault, consumer) &&
         fault.operation == consumer.kind && fault.value == value;
}

void add_waits(Program& program, const Fault& fault) {
  const std::size_t count = program.graph.operations.size();
  program.consumers.resize(count);
  program.awaited_inputs.resize(count);
  for (const Operation& operation : program.graph.operations) {
    for (const Edge& edge : operation.inputs) {
      if (!dropped(fault, operation, edge.value)) {
        program.consumers[edge.from.value()].push_back({operation.id, edge.value});
        ++program.awaited_inputs[operation.id.value()];
      }
    }
  }
}

/// Whether anything in the same step waits for the operation. An append that only the next step
/// reads does not count: it is a write that nothing waits on.
bool awaited_in_step(const Program& program, const Operation& operation) {
  const auto& consumers = program.consumers[operation.id.value()];
  return std::any_of(consumers.begin(), consumers.end(), [&](const Consumer& consumer) {
    return program.graph[consumer.operation].step == operation.step;
  });
}

bool awaited_elsewhere(const Program& program, OpId id) {
  const Operation& operation = program.graph[id];
  const auto& consumers = program.consumers[id.value()];
  return std::any_of(consumers.begin(), consumers.end(), [&](const Consumer& consumer) {
    const Operation& reader = program.graph[consumer.operation];
    return program.device_of[reader.id.value()] != program.device_of[id.value()] &&
           reader.step == operation.step &&
           (reader.kind != OpKind::append || awaited_in_step(program, reader));
  });
}

bool struck(Arrangement arrangement, const Fault& fault, const Operation& operation) {
  switch (fault.kind) {
    case FaultKind::none:
      return true;
    case FaultKind::drop_edge:
      return std::any_of(operation.inputs.begin(), operation.inputs.end(),
                         [&](const Edge& edge) { return dropped(fault, operation, edge.value); });
    case FaultKind::wrong_weights:
      return at(fault, operation) && operation.kind == fault.operation;
    case FaultKind::alter_in_flight:
      return arrangement != Arrangement::colocated && at(fault, operation);
    case FaultKind::swap_kv:
      return at(fault, operation) && operation.kind == OpKind::append;
    case FaultKind::skip_position:
      return at(fault, operation) && operation.kind == OpKind::sweep && operation.positions > 0;
  }
  throw std::logic_error("struck: unknown fault");
}

}  // namespace

void require_strikes(const Graph& graph, Arrangement arrangement, const Fault& fault) {
  const bool any = std::any_of(
      graph.operations.begin(), graph.operations.end(),
      [&](const Operation& operation) { return struck(arrangement, fault, operation); });
  if (!any) {
    throw ConfigError(fmt::format(
        "numerics.inject: nothing in layer {} of step {} for the fault {} (operation {}, value {})",
        fault.layer.value(), fault.step.value(), name_of(fault.kind), name_of(fault.operation),
        name_of(fault.value)));
  }
}

std::vector<DeviceRole> roles_of(Arrangement arrangement) {
  switch (arrangement) {
    case Arrangement::colocated:
      return {{"compute_device", {.weights = true, .cache = true}}};
    case Arrangement::two_device:
      return {{"compute_device", {.weights = true, .cache = false}},
              {"cache_device", {.weights = false, .cache = true}}};
  }
  throw std::logic_error("roles_of: unknown arrangement");
}

DeviceId device_of(Arrangement arrangement, OpKind kind) {
  const bool on_cache = kind == OpKind::sweep || kind == OpKind::append;
  return DeviceId(arrangement == Arrangement::two_device && on_cache ? cache_device
                                                                     : compute_device);
}

Program make_program(Graph graph, const CountingRules& rules, Arrangement arrangement,
                     const Fault& fault) {
  Program program;
  program.graph = std::move(graph);
  program.rules = rules;
  for (const Operation& operation : program.graph.operations) {
    program.device_of.push_back(device_of(arrangement, operation.kind));
  }
  add_waits(program, fault);
  for (const Operation& operation : program.graph.operations) {
    program.awaited_elsewhere.push_back(awaited_elsewhere(program, operation.id));
    program.wave = std::max(program.wave, operation.request.value() + 1);
  }
  return program;
}

}  // namespace qfs
