#include "analysis/estimate/decode_estimate.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

#include "analysis/step_graph.hpp"

namespace qfs {
namespace {

using Node = ListSchedule::Node;

// ---- what a node's bytes are of
//
// Graphs that differ in formats, accounting or attention method have the same nodes, so that the
// same node's bytes in two of them tell one kind from the other.

std::vector<Bytes> bytes_of_nodes(AnalyticArrangement arrangement,
                                  const AnalyticParameters& parameters) {
  const StepGraph graph = step_graph(arrangement, parameters);
  std::vector<Bytes> bytes;
  for (const Node& node : graph.schedule.nodes()) {
    bytes.push_back(node.cost.bytes);
  }
  return bytes;
}

AnalyticParameters with_format(AnalyticParameters parameters, Format format) {
  parameters.formats = {format, format, format, format};
  return parameters;
}

bool has_least_traffic(const AnalyticParameters& parameters) {
  const AttentionMethod least;
  return parameters.attention.form == least.form && parameters.attention.growth == least.growth;
}

AnalyticParameters with_least_traffic(AnalyticParameters parameters) {
  parameters.attention = {};
  return parameters;
}

AnalyticParameters without_activations(AnalyticParameters parameters) {
  parameters.accounting = Accounting::weights_and_sweep;
  return parameters;
}

/// By node.
struct NodeBytes {
  NodeBytes(AnalyticArrangement arrangement, const AnalyticParameters& p)
      : all(bytes_of_nodes(arrangement, p)),
        weights_and_sweep(bytes_of_nodes(arrangement, without_activations(p))),
        least(has_least_traffic(p) ? all : bytes_of_nodes(arrangement, with_least_traffic(p))),
        least_sweep(has_least_traffic(p)
                        ? weights_and_sweep
                        : bytes_of_nodes(arrangement, with_least_traffic(without_activations(p)))),
        two_a_value(bytes_of_nodes(arrangement, with_format(p, Format::bf16))),
        one_a_value(bytes_of_nodes(arrangement, with_format(p, Format::fp8_e4m3))) {}

  /// What does not grow with the format is fp32.
  [[nodiscard]] std::int64_t accesses(std::size_t node) const {
    const Bytes values = two_a_value[node] - one_a_value[node];
    return values.value() + (one_a_value[node] - values).value() / 4;
  }

  std::vector<Bytes> all;
  std::vector<Bytes> weights_and_sweep;
  std::vector<Bytes> least;
  std::vector<Bytes> least_sweep;
  std::vector<Bytes> two_a_value;
  std::vector<Bytes> one_a_value;
};

/// A conventional form writes what it moves beyond the least, and reads it back.
Bytes written_and_read(Bytes moved, Bytes least) { return Bytes((moved - least).value() / 2); }

// ---- who a node is

constexpr std::array<std::string_view, analytic_operations> operation_names{
    "embed", "q", "k", "v", "kv", "qkv", "sweep", "merge", "hold", "o", "ffn", "reduce", "lm_head"};

/// A graph's nodes come in program order; writes and messages do not say to which layer they
/// belong.
struct Place {
  std::size_t step = 0;
  std::size_t wave = 0;
  std::size_t layer = 0;
  AnalyticOperation operation = AnalyticOperation::embed;
};

/// The inverse of the order that step_graph.cpp gives a turn.
Place place_of(const ListSchedule::Turn& turn, const AnalyticParameters& parameters) {
  const std::size_t in_wave = turn.order / parameters.in_flight;
  const std::size_t layer_of_run = in_wave / analytic_operations;
  Place place;
  place.step = turn.step;
  place.wave = turn.order % parameters.in_flight;
  place.layer = layer_of_run % (parameters.shape.layers + 1);
  place.operation = static_cast<AnalyticOperation>(in_wave % analytic_operations);
  assert(layer_of_run / (parameters.shape.layers + 1) == place.step);
  return place;
}

constexpr AnalyticResource resource(AnalyticDeviceRole role, AnalyticResource of_compute) {
  constexpr int kinds = 3;  // memory, arithmetic, launches
  return static_cast<AnalyticResource>(static_cast<int>(of_compute) +
                                       kinds * static_cast<int>(role));
}
static_assert(resource(AnalyticDeviceRole::rank, AnalyticResource::compute_launch) ==
              AnalyticResource::rank_launch);
static_assert(resource(AnalyticDeviceRole::cache, AnalyticResource::compute_memory) ==
              AnalyticResource::cache_memory);

constexpr AnalyticResource resource(AnalyticPortRole role) {
  return static_cast<AnalyticResource>(static_cast<int>(AnalyticResource::link_to_cache) +
                                       static_cast<int>(role));
}
static_assert(resource(AnalyticPortRole::between_ranks) == AnalyticResource::link_between_ranks);
static_assert(resource(AnalyticPortRole::to_owner) == AnalyticResource::link_to_owner);

struct Bound {
  Seconds time;
  AnalyticResource resource = AnalyticResource::compute_memory;

  void raise(Seconds other, AnalyticResource whose) {
    if (other > time) {
      time = other;
      resource = whose;
    }
  }
};

/// What one layer asks of each device and port.
struct Loads {
  std::vector<AnalyticCost> devices;
  std::vector<AnalyticCost> ports;
  std::vector<std::int64_t> messages;
};

// ---- from nodes to estimates

class Estimator {
 public:
  Estimator(AnalyticArrangement arrangement, const AnalyticParameters& parameters)
      : arrangement_(arrangement),
        graph_(step_graph(arrangement, parameters)),
        p_(graph_.parameters),
        bytes_(arrangement, parameters),
        ends_(graph_.schedule.run()) {
    assert(bytes_.all.size() == ends_.size());
    for (const AnalyticDeviceRole role : graph_.topology.device_roles) {
      number_.push_back(of_role_[static_cast<std::size_t>(role)]++);
    }
  }

  DecodeEstimate estimate() {
    add_empty_layers();
    for (std::size_t node = 0; node < ends_.size(); ++node) {
      add_node(node);
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      finish(layers_[i], loads_[i]);
    }
    return {steps(), last(graph_.first_outputs)};
  }

 private:
  [[nodiscard]] std::size_t layers_of_step() const {
    return p_.shape.layers + (p_.lm_head ? 1 : 0);
  }
  [[nodiscard]] std::size_t index_of(const Place& place) const {
    return (place.step * p_.in_flight + place.wave) * layers_of_step() + place.layer;
  }

  void add_empty_layers() {
    const Loads none{std::vector<AnalyticCost>(graph_.topology.device_roles.size()),
                     std::vector<AnalyticCost>(graph_.topology.port_roles.size()),
                     std::vector<std::int64_t>(graph_.topology.port_roles.size())};
    for (std::size_t step = 0; step < p_.tokens; ++step) {
      for (std::size_t wave = 0; wave < p_.in_flight; ++wave) {
        for (std::size_t layer = 0; layer < layers_of_step(); ++layer) {
          layers_.push_back({step, wave, layer, {}, {}, {}, 0, {}, {}});
          loads_.push_back(none);
          outputs_.push_back(0);
        }
      }
    }
  }

  void add_node(std::size_t index) {
    const Node& node = graph_.schedule.nodes()[index];
    switch (node.kind) {
      case Node::Kind::instant:
        at_ = place_of(node.turn, p_);
        break;
      case Node::Kind::operation:
        at_ = place_of(node.turn, p_);
        add_operation(index);
        outputs_[index_of(at_)] = std::max(outputs_[index_of(at_)], ends_[index]);
        break;
      case Node::Kind::write:  // made after the layer's projections
        add_operation(index);
        break;
      case Node::Kind::message:
        add_message(index);
        break;
    }
    made_at_.push_back(at_);
  }

  void add_operation(std::size_t index) {
    const Node& node = graph_.schedule.nodes()[index];
    const AnalyticDeviceRole role = graph_.topology.device_roles[node.place];
    const AnalyticDevice& device = device_of(role);
    const bool append = node.kind == Node::Kind::write;
    Bound bound{node.cost.bytes / device.bandwidth,
                resource(role, AnalyticResource::compute_memory)};
    bound.raise(arithmetic_time(node.cost, device),
                resource(role, AnalyticResource::compute_arithmetic));
    const std::size_t at = index_of(at_);
    layers_[at].operations.push_back({append ? "append" : name(), at_.step, at_.wave, at_.layer,
                                      role, number_[node.place],
                                      append ? append_work(index) : work(index),
                                      time_alone(node.cost, device), bound.time, bound.resource});
    layers_[at].work += layers_[at].operations.back().work;
    loads_[at].devices[node.place] += node.cost;
  }

  /// It belongs to the layer of what it carries first.
  void add_message(std::size_t index) {
    const Node& node = graph_.schedule.nodes()[index];
    const std::size_t at = index_of(made_at_[node.after.front()]);
    layers_[at].wire_bytes += node.cost.bytes;
    ++layers_[at].messages;
    loads_[at].ports[node.place] += node.cost;
    ++loads_[at].messages[node.place];
  }

  /// Of the operation at hand; ranks reduce what they have just made.
  std::string name() {
    std::string name(operation_names[static_cast<std::size_t>(at_.operation)]);
    if (at_.operation == AnalyticOperation::reduce) {
      return name + "_" + summed_;
    }
    summed_ = name;
    return name;
  }

  [[nodiscard]] DecodeWork work(std::size_t index) const {
    const AnalyticCost& cost = graph_.schedule.nodes()[index].cost;
    DecodeWork work;
    work.launches = cost.launches;
    work.macs = cost.macs;
    work.exps = cost.exps;
    work.accesses = bytes_.accesses(index);
    const Bytes moved = bytes_.weights_and_sweep[index];
    work.activation_bytes = cost.bytes - moved;
    if (at_.operation == AnalyticOperation::sweep) {
      work.kv_written_bytes = written_and_read(moved, bytes_.least_sweep[index]);
      work.kv_read_bytes = moved - work.kv_written_bytes;
    } else {
      work.weight_bytes = moved;
    }
    return work;
  }

  /// The row, and the old ones that a copying cache takes along.
  [[nodiscard]] DecodeWork append_work(std::size_t index) const {
    DecodeWork work;
    work.accesses = bytes_.accesses(index);
    work.kv_read_bytes = written_and_read(bytes_.all[index], bytes_.least[index]);
    work.kv_written_bytes = bytes_.all[index] - work.kv_read_bytes;
    return work;
  }

  [[nodiscard]] const AnalyticDevice& device_of(AnalyticDeviceRole role) const {
    return role == AnalyticDeviceRole::cache ? p_.cache : p_.compute;
  }

  [[nodiscard]] Seconds last(const ListSchedule::Tasks& tasks) const {
    double end = 0;
    for (const ListSchedule::Task task : tasks) {
      end = std::max(end, ends_[task]);
    }
    return Seconds(end);
  }

  [[nodiscard]] Seconds step_start(std::size_t step, std::size_t wave) const {
    return step == 0 ? Seconds(0) : last(graph_.ends[wave][step - 1]);
  }

  void finish(LayerEstimate& layer, const Loads& loads) {
    const std::size_t at = index_of({layer.step, layer.wave, layer.layer});
    const Seconds before =
        layer.layer == 0 ? step_start(layer.step, layer.wave) : Seconds(outputs_[at - 1]);
    layer.closed_form = Seconds(outputs_[at]) - before;
    Bound bound;
    for (std::size_t i = 0; i < loads.devices.size(); ++i) {
      const AnalyticDeviceRole role = graph_.topology.device_roles[i];
      const AnalyticDevice& device = device_of(role);
      const AnalyticCost& load = loads.devices[i];
      bound.raise(load.bytes / device.bandwidth, resource(role, AnalyticResource::compute_memory));
      bound.raise(arithmetic_time(load, device),
                  resource(role, AnalyticResource::compute_arithmetic));
      bound.raise(launch_time(load, device), resource(role, AnalyticResource::compute_launch));
    }
    for (std::size_t i = 0; i < loads.ports.size(); ++i) {
      const Seconds overhead = static_cast<double>(loads.messages[i]) * p_.link_message_overhead;
      bound.raise(overhead + loads.ports[i].bytes / p_.link_bandwidth,
                  resource(graph_.topology.port_roles[i]));
    }
    layer.roofline = bound.time;
    layer.bound = bound.resource;
  }

  /// Waves are alike.
  [[nodiscard]] std::vector<std::optional<Roofline>> rooflines_of_steps() const {
    std::vector<std::optional<Roofline>> rooflines(p_.tokens);
    const bool first_alone = p_.ranks > 1 && !p_.lm_head;
    const std::size_t bounded = first_alone ? 1 : std::min(p_.tokens, most_bounded_steps);
    for (std::size_t step = 0; step < bounded; ++step) {
      rooflines[step] = step_roofline(arrangement_, p_, step);
    }
    return rooflines;
  }

  std::vector<StepEstimate> steps() {
    std::vector<StepEstimate> steps;
    const std::vector<std::optional<Roofline>> rooflines = rooflines_of_steps();
    for (LayerEstimate& layer : layers_) {
      if (layer.layer == 0) {
        const Seconds start = step_start(layer.step, layer.wave);
        const Seconds end = last(graph_.ends[layer.wave][layer.step]);
        steps.push_back(
            {layer.step, layer.wave, {}, {}, {}, 0, end - start, rooflines[layer.step]});
      }
      StepEstimate& step = steps.back();
      step.work += layer.work;
      step.wire_bytes += layer.wire_bytes;
      step.messages += layer.messages;
      step.layers.push_back(std::move(layer));
    }
    return steps;
  }

  AnalyticArrangement arrangement_;
  StepGraph graph_;
  const AnalyticParameters& p_;
  NodeBytes bytes_;
  std::vector<double> ends_;
  std::array<std::size_t, 4> of_role_{};  // devices so far, by role
  std::vector<std::size_t> number_;       // by device, of those of its role
  std::vector<LayerEstimate> layers_;     // by index_of
  std::vector<Loads> loads_;              // likewise
  std::vector<double> outputs_;           // likewise: the last end of an operation
  std::vector<Place> made_at_;            // by node
  Place at_;                              // of the operation last seen
  std::string summed_;                    // the last operation that is no reduce
};

}  // namespace

DecodeWork& DecodeWork::operator+=(const DecodeWork& other) {
  launches += other.launches;
  weight_bytes += other.weight_bytes;
  kv_read_bytes += other.kv_read_bytes;
  kv_written_bytes += other.kv_written_bytes;
  activation_bytes += other.activation_bytes;
  macs += other.macs;
  exps += other.exps;
  accesses += other.accesses;
  return *this;
}

bool alike(const LayerEstimate& a, const LayerEstimate& b) {
  return std::equal(a.operations.begin(), a.operations.end(), b.operations.begin(),
                    b.operations.end(), [](const auto& one, const auto& other) {
                      return one.name == other.name && one.role == other.role &&
                             one.device == other.device && one.work == other.work;
                    });
}

DecodeEstimate decode_estimate(AnalyticArrangement arrangement,
                               const AnalyticParameters& parameters) {
  return Estimator(arrangement, parameters).estimate();
}

}  // namespace qfs
