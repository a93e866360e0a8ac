#include "analysis/roofline.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "analysis/operation_costs.hpp"
#include "analysis/step_graph.hpp"

namespace qfs {
namespace {

using Node = ListSchedule::Node;
using Task = ListSchedule::Task;
using Tasks = ListSchedule::Tasks;

/// By task: whether it is one of those given or must end before one of them starts.
std::vector<bool> with_ancestors(const std::vector<Node>& nodes, const Tasks& tasks) {
  std::vector<bool> found(nodes.size());
  for (const Task task : tasks) {
    found[task] = true;
  }
  for (Task task = nodes.size(); task-- > 0;) {
    for (const Task earlier : nodes[task].after) {
      found[earlier] = found[earlier] || found[task];
    }
  }
  return found;
}

/// What must end before the makers of the port's needed messages start.
std::vector<bool> before_makers(const std::vector<Node>& nodes, const std::vector<bool>& needed,
                                std::size_t port) {
  Tasks before;
  for (Task task = 0; task < nodes.size(); ++task) {
    if (needed[task] && nodes[task].kind == Node::Kind::message && nodes[task].place == port) {
      for (const Task maker : nodes[task].after) {
        before.insert(before.end(), nodes[maker].after.begin(), nodes[maker].after.end());
      }
    }
  }
  return with_ancestors(nodes, before);
}

/// By task: whether the step of wave 0 cannot end without it.
std::vector<bool> needed_by_step(const StepGraph& graph, std::size_t step) {
  const std::vector<Node>& nodes = graph.schedule.nodes();
  std::vector<bool> needed = with_ancestors(nodes, graph.ends.front()[step]);
  for (Task task = 0; task < nodes.size(); ++task) {
    needed[task] = needed[task] && nodes[task].turn.step == step;
  }
  for (std::size_t port = 0; port < graph.topology.port_roles.size(); ++port) {
    const std::vector<bool> before = before_makers(nodes, needed, port);
    for (Task task = 0; task < nodes.size(); ++task) {
      const Node& node = nodes[task];
      const bool ahead = std::all_of(node.after.begin(), node.after.end(),
                                     [&](Task maker) { return before[maker]; });
      if (node.kind == Node::Kind::message && node.place == port && node.turn.step == step &&
          ahead) {
        needed[task] = true;
      }
    }
  }
  return needed;
}

const AnalyticDevice& device_of(AnalyticDeviceRole role, const AnalyticParameters& parameters) {
  return role == AnalyticDeviceRole::cache ? parameters.cache : parameters.compute;
}

/// The work of one device or port.
struct Load {
  AnalyticCost work;  // bytes with writes; of a port the messages' bytes
  std::int64_t messages = 0;
  Seconds executor;
};

struct Loads {
  std::vector<Load> devices;
  std::vector<Load> ports;
};

Loads loads_of(const StepGraph& graph, const std::function<bool(Task)>& counts) {
  Loads loads{std::vector<Load>(graph.topology.device_roles.size()),
              std::vector<Load>(graph.topology.port_roles.size())};
  const std::vector<Node>& nodes = graph.schedule.nodes();
  for (Task task = 0; task < nodes.size(); ++task) {
    const Node& node = nodes[task];
    if (!counts(task)) {
      continue;
    }
    if (node.kind == Node::Kind::message) {
      loads.ports[node.place].work += node.cost;
      ++loads.ports[node.place].messages;
      continue;
    }
    Load& load = loads.devices[node.place];
    load.work += node.cost;
    if (node.kind == Node::Kind::operation) {
      const AnalyticDeviceRole role = graph.topology.device_roles[node.place];
      load.executor += time_alone(node.cost, device_of(role, graph.parameters));
    }
  }
  return loads;
}

struct DeviceResources {
  AnalyticResource memory;
  AnalyticResource arithmetic;
  AnalyticResource launch;
  AnalyticResource executor;
};

DeviceResources resources_of(AnalyticDeviceRole role) {
  using R = AnalyticResource;
  switch (role) {
    case AnalyticDeviceRole::compute:
      return {R::compute_memory, R::compute_arithmetic, R::compute_launch, R::compute_executor};
    case AnalyticDeviceRole::cache:
      return {R::cache_memory, R::cache_arithmetic, R::cache_launch, R::cache_executor};
    case AnalyticDeviceRole::pool:
      return {R::pool_memory, R::pool_arithmetic, R::pool_launch, R::pool_executor};
    case AnalyticDeviceRole::rank:
      break;
  }
  return {R::rank_memory, R::rank_arithmetic, R::rank_launch, R::rank_executor};
}

AnalyticResource resource_of(AnalyticPortRole role) {
  switch (role) {
    case AnalyticPortRole::to_cache:
      return AnalyticResource::link_to_cache;
    case AnalyticPortRole::to_compute:
      return AnalyticResource::link_to_compute;
    case AnalyticPortRole::to_pool:
      return AnalyticResource::link_to_pool;
    case AnalyticPortRole::to_cache_devices:
      return AnalyticResource::link_to_cache_devices;
    case AnalyticPortRole::to_owner:
      return AnalyticResource::link_to_owner;
    case AnalyticPortRole::between_ranks:
      break;
  }
  return AnalyticResource::link_between_ranks;
}

Roofline roofline_of(const StepGraph& graph, const Loads& loads, bool executors) {
  Roofline roofline;
  const auto set = [&](AnalyticResource resource, Seconds busy) {
    Seconds& busiest = roofline.busy[static_cast<std::size_t>(resource)];
    busiest = std::max(busiest, busy);
  };
  for (std::size_t i = 0; i < loads.devices.size(); ++i) {
    const Load& load = loads.devices[i];
    const AnalyticDeviceRole role = graph.topology.device_roles[i];
    const AnalyticDevice& device = device_of(role, graph.parameters);
    const DeviceResources resources = resources_of(role);
    set(resources.memory, load.work.bytes / device.bandwidth);
    set(resources.arithmetic, arithmetic_time(load.work, device));
    set(resources.launch, launch_time(load.work, device));
    set(resources.executor, executors ? load.executor : Seconds(0));
  }
  for (std::size_t i = 0; i < loads.ports.size(); ++i) {
    const Load& load = loads.ports[i];
    set(resource_of(graph.topology.port_roles[i]),
        static_cast<double>(load.messages) * graph.parameters.link_message_overhead +
            load.work.bytes / graph.parameters.link_bandwidth);
  }
  const auto longest = std::max_element(roofline.busy.begin(), roofline.busy.end());
  roofline.time = *longest;
  roofline.bound = static_cast<AnalyticResource>(longest - roofline.busy.begin());
  return roofline;
}

StepGraph graph_until(AnalyticArrangement arrangement, AnalyticParameters parameters,
                      std::size_t tokens, std::size_t waves) {
  parameters.tokens = tokens;
  parameters.in_flight = waves;
  return step_graph(arrangement, parameters);
}

}  // namespace

Roofline step_roofline(AnalyticArrangement arrangement, const AnalyticParameters& parameters,
                       std::size_t token) {
  const StepGraph graph = graph_until(arrangement, parameters, token + 1, 1);
  const std::vector<bool> needed = needed_by_step(graph, token);
  return roofline_of(graph, loads_of(graph, [&](Task task) { return needed[task]; }), false);
}

// With the token after, for which the LM heads' results are sent.
Roofline round_bound(AnalyticArrangement arrangement, const AnalyticParameters& parameters,
                     std::size_t token) {
  const StepGraph graph = graph_until(arrangement, parameters, token + 2, parameters.in_flight);
  const auto in_round = [&](Task task) { return graph.schedule.nodes()[task].turn.step == token; };
  return roofline_of(graph, loads_of(graph, in_round), true);
}

Roofline two_device_roofline(const AnalyticParameters& parameters, std::size_t token) {
  return step_roofline(AnalyticArrangement::two_device, parameters, token);
}

Roofline colocated_roofline(const AnalyticParameters& parameters, std::size_t token) {
  return step_roofline(AnalyticArrangement::colocated, parameters, token);
}

Roofline pooled_roofline(const AnalyticParameters& parameters, std::size_t token) {
  return step_roofline(AnalyticArrangement::pooled, parameters, token);
}

Roofline tensor_parallel_roofline(const AnalyticParameters& parameters, std::size_t token) {
  return step_roofline(AnalyticArrangement::tensor_parallel, parameters, token);
}

}  // namespace qfs
