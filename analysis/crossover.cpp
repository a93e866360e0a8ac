#include "analysis/crossover.hpp"

#include <algorithm>

#include "analysis/block_reads.hpp"
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

/// Whether a sweep takes time in proportion to its positions, and has the memory to itself.
bool sweep_is_linear(const AttentionMethod& attention) {
  return attention.form != AttentionForm::score_matrix && attention.growth == CacheGrowth::in_place;
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
  const BlockReads reads = block_reads(parameters.block);
  Seconds until_q =
      time_alone(costs.o(), parameters.compute) + time_alone(costs.q(), parameters.compute);
  if (reads.q == ReadPoint::input ? !reads.ffn_first : reads.q == ReadPoint::after_ffn) {
    until_q += time_alone(costs.ffn(), parameters.compute);
  }
  if (reads.k != reads.q && reads.q == ReadPoint::after_ffn) {
    until_q += time_alone(costs.k_or_v(), parameters.compute);  // early_k
  }
  return parameters.shape.layers == 1 || port <= until_q;
}

/// What the compute device does between a layer's q and its merge, in the layer where that is the
/// least (the first, in shifted_q); none where sweeps queue up behind each other.
std::optional<Seconds> time_beside_sweep(const AnalyticCosts& costs,
                                         const AnalyticParameters& parameters) {
  const BlockReads reads = block_reads(parameters.block);
  if (reads.q == ReadPoint::network_input) {
    return std::nullopt;
  }
  const AnalyticDevice& compute = parameters.compute;
  Seconds beside(0);
  if (kv_together(reads)) {
    beside += time_alone(costs.kv(), compute);
  } else {
    const bool k_before_q = reads.k == ReadPoint::input && reads.q == ReadPoint::after_ffn;
    beside += (k_before_q ? 1.0 : 2.0) * time_alone(costs.k_or_v(), compute);
  }
  if (reads.ffn_first && reads.q == ReadPoint::input) {
    beside += time_alone(costs.ffn(), compute);
  }
  if (reads.ffn_first && reads.v == ReadPoint::input) {
    beside -= costs.append(0) / parameters.cache.bandwidth;  // it lands while the sweep runs
  }
  return beside;
}

}  // namespace

std::optional<double> ffn_crossover(const AnalyticParameters& parameters) {
  if (!sweep_is_linear(parameters.attention)) {
    return std::nullopt;
  }
  const AnalyticCosts costs(parameters);
  const double found = positions_in(time_alone(costs.ffn(), parameters.compute), parameters);
  return found < 0 ? std::nullopt : std::optional(found);
}

std::optional<double> latency_crossover(const AnalyticParameters& parameters) {
  if (parameters.current_token == CurrentToken::append_first ||
      !sweep_is_linear(parameters.attention)) {
    return std::nullopt;
  }
  const AnalyticCosts costs(parameters);
  if (!query_finds_port_free(parameters)) {
    return std::nullopt;
  }
  const std::optional<Seconds> beside = time_beside_sweep(costs, parameters);
  if (!beside) {
    return std::nullopt;
  }
  const Seconds messages = message_time(parameters, costs.q_message()) +
                           message_time(parameters, costs.partial_message());
  const double found = positions_in(*beside - messages, parameters);
  return found < 0 ? std::nullopt : std::optional(found);
}

}  // namespace qfs
