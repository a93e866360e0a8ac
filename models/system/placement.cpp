#include "system/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/functional/hash.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "system/calls.hpp"

namespace qfs {
namespace {

bool at(const Fault& fault, const Operation& operation) {
  return fault.layer == operation.layer && fault.step == operation.step;
}

bool dropped(const Fault& fault, const Operation& consumer, ValueKind value) {
  return fault.kind == FaultKind::drop_edge && at(fault, consumer) &&
         fault.operation == consumer.kind && fault.value == value;
}

void add_waits(Program& program, const Fault& fault) {
  const std::size_t count = program.graph.operations.size();
  program.awaited_inputs.resize(count);
  std::vector<Wait> waits;
  waits.reserve(2 * count);
  for (const Operation& operation : program.graph.operations) {
    for (const Edge& edge : operation.inputs) {
      if (!dropped(fault, operation, edge.value)) {
        waits.push_back({edge.from, {operation.id, carried(edge)}});
        ++program.awaited_inputs[operation.id.value()];
      }
    }
  }
  program.consumers = Consumers(count, waits);
}

/// Whether anything in the same step waits for the operation. An append that only the next step
/// reads does not count: it is a write that nothing waits on.
bool awaited_in_step(const Program& program, const Operation& operation) {
  const std::span<const Consumer> consumers = program.consumers[operation.id.value()];
  return std::any_of(consumers.begin(), consumers.end(), [&](const Consumer& consumer) {
    return program.graph[consumer.operation].step == operation.step;
  });
}

bool awaited_elsewhere(const Program& program, OpId id) {
  const Operation& operation = program.graph[id];
  const std::span<const Consumer> consumers = program.consumers[id.value()];
  return std::any_of(consumers.begin(), consumers.end(), [&](const Consumer& consumer) {
    const Operation& reader = program.graph[consumer.operation];
    return program.device_of[reader.id.value()] != program.device_of[id.value()] &&
           reader.step == operation.step &&
           (reader.kind != OpKind::append || awaited_in_step(program, reader));
  });
}

/// Whether the sweep gets its query over a link.
bool query_travels(const Graph& graph, const Layout& layout, const Operation& sweep) {
  const Operation& q = graph[sweep.inputs.front().from];
  return layout.device_of(q) != layout.device_of(sweep);
}

bool struck(const Graph& graph, const Layout& layout, const Fault& fault,
            const Operation& operation) {
  switch (fault.kind) {
    case FaultKind::none:
      return true;
    case FaultKind::drop_edge:
      return std::any_of(operation.inputs.begin(), operation.inputs.end(),
                         [&](const Edge& edge) { return dropped(fault, operation, edge.value); });
    case FaultKind::wrong_weights:
      return at(fault, operation) && operation.kind == fault.operation;
    case FaultKind::alter_in_flight:
      return at(fault, operation) && is_first_of_sweep(operation.kind) &&
             query_travels(graph, layout, operation);
    case FaultKind::swap_kv:
      return at(fault, operation) && operation.kind == OpKind::append;
    case FaultKind::skip_position:
      return at(fault, operation) && is_first_of_sweep(operation.kind) && operation.positions > 0;
  }
  throw std::logic_error("struck: unknown fault");
}

/// Counts the operations of each wave that share a batch key; no two of one request do.
void count_wave_members(Program& program) {
  if (program.wave == 1) {
    program.wave_members.assign(program.graph.operations.size(), 1);
    return;
  }
  using Key = std::array<std::size_t, 5>;
  std::unordered_map<Key, std::uint32_t, boost::hash<Key>> counts;
  const auto key = [&](const Operation& operation) {
    return Key{static_cast<std::size_t>(operation.kind), operation.layer.value(),
               operation.step.value(), operation.shard, program.wave_of(operation.request)};
  };
  std::vector<const std::uint32_t*> count_of;  // by operation; a map moves no entry
  count_of.reserve(program.graph.operations.size());
  for (const Operation& operation : program.graph.operations) {
    count_of.push_back(&++counts[key(operation)]);
  }
  program.wave_members.reserve(count_of.size());
  for (const std::uint32_t* count : count_of) {
    program.wave_members.push_back(*count);
  }
}

/// A request is over with the last of its operations that another step would have waited for: its
/// last LM head or else the last write to its residual stream.
void mark_ends(Program& program) {
  const std::vector<Operation>& operations = program.graph.operations;
  program.ends_request.resize(operations.size());
  std::optional<RequestId> seen;
  std::for_each(operations.rbegin(), operations.rend(), [&](const Operation& operation) {
    if (operation.kind != OpKind::append && operation.request != seen) {
      program.ends_request[operation.id.value()] = true;
      seen = operation.request;
    }
  });
}

}  // namespace

void require_strikes(const Graph& graph, const Layout& layout, const Fault& fault) {
  const bool any = std::any_of(
      graph.operations.begin(), graph.operations.end(),
      [&](const Operation& operation) { return struck(graph, layout, fault, operation); });
  if (!any) {
    throw ConfigError(fmt::format(
        "numerics.inject: nothing in layer {} of step {} for the fault {} (operation {}, value {})",
        fault.layer.value(), fault.step.value(), name_of(fault.kind), name_of(fault.operation),
        name_of(fault.value)));
  }
}

Program make_program(Graph graph, const CountingRules& rules, const Layout& layout,
                     std::size_t wave, const Fault& fault) {
  Program program;
  program.graph = std::move(graph);
  program.rules = rules;
  program.wave = wave;
  program.device_of.reserve(program.graph.operations.size());
  for (const Operation& operation : program.graph.operations) {
    program.device_of.push_back(layout.device_of(operation));
  }
  add_waits(program, fault);
  for (const Operation& operation : program.graph.operations) {
    program.awaited_elsewhere.push_back(awaited_elsewhere(program, operation.id));
  }
  count_wave_members(program);
  mark_ends(program);
  add_calls(program, layout);
  program.next_hop = layout.next_hops();
  return program;
}

}  // namespace qfs
