#include "analysis/crossover.hpp"

#include <algorithm>

#include "analysis/operation_costs.hpp"

namespace qfs {
namespace {

/// The context at which one sweep has come to take `time`; negative if an empty cache takes longer
/// already. The memory and the two kinds of arithmetic work side by side, so the first of them to
/// need that long decides.
double positions_in(Seconds time, const AnalyticParameters& parameters) {
  const AnalyticCosts costs(parameters);
  const AnalyticCost none = costs.sweep(0);
  const AnalyticCost one = costs.sweep(1);
  const AnalyticDevice& cache = parameters.cache;
  const double room = (time - launch_time(none, cache)).value();
  const auto positions = [room](Seconds fixed, Seconds per_position) {
    const double left = room - fixed.value();
    return left < 0 || per_position.value() > 0 ? left / per_position.value() : unlimited;
  };
  return std::min(
      {positions(none.bytes / cache.bandwidth, (one.bytes - none.bytes) / cache.bandwidth),
       positions(none.macs / cache.mac_rate, (one.macs - none.macs) / cache.mac_rate),
       positions(none.exps / cache.exp_rate, (one.exps - none.exps) / cache.exp_rate)});
}

Seconds message_time(const AnalyticParameters& parameters, Bytes bytes) {
  return parameters.link_message_overhead + bytes / parameters.link_bandwidth +
         parameters.link_latency;
}

/// Whether the port is free when a layer's q is ready: the k, v message of the layer before must
/// not outlast what the compute device does between sending it and q.
bool query_finds_port_free(const AnalyticParameters& parameters) {
  const AnalyticCosts costs(parameters);
  const Seconds port =
      parameters.link_message_overhead + costs.kv_message() / parameters.link_bandwidth;
  Seconds until_q =
      time_alone(costs.o(), parameters.compute) + time_alone(costs.q(), parameters.compute);
  if (parameters.block != BlockOrder::early_q) {
    until_q += time_alone(costs.ffn(), parameters.compute);
  }
  return parameters.shape.layers == 1 || port <= until_q;
}

}  // namespace

std::optional<double> ffn_crossover(const AnalyticParameters& parameters) {
  const AnalyticCosts costs(parameters);
  const double found = positions_in(time_alone(costs.ffn(), parameters.compute), parameters);
  return found < 0 ? std::nullopt : std::optional(found);
}

std::optional<double> latency_crossover(const AnalyticParameters& parameters) {
  if (parameters.current_token == CurrentToken::append_first) {
    return std::nullopt;
  }
  const AnalyticCosts costs(parameters);
  if (!query_finds_port_free(parameters)) {
    return std::nullopt;
  }
  Seconds beside = time_alone(costs.kv(), parameters.compute);
  if (parameters.block == BlockOrder::early_q) {
    beside += time_alone(costs.ffn(), parameters.compute);
  }
  const Seconds messages = message_time(parameters, costs.q_message()) +
                           message_time(parameters, costs.partial_message());
  const double found = positions_in(beside - messages, parameters);
  return found < 0 ? std::nullopt : std::optional(found);
}

}  // namespace qfs
