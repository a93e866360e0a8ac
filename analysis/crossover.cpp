#include "analysis/crossover.hpp"

#include <algorithm>

#include "analysis/block_reads.hpp"
#include "analysis/operation_costs.hpp"

namespace qfs {
namespace {

/// The context at which the sweep on each cache device has come to take `time`; negative if an
/// empty cache takes longer already. The memory and the two kinds of arithmetic work side by side,
/// so the first of them to need that long decides.
double positions_in(Seconds time, const AnalyticParameters& parameters) {
  const AnalyticCosts costs = AnalyticCosts::of_shard(parameters);
  const AnalyticCost none = costs.sweep(0);
  const AnalyticCost one = costs.sweep(1);
  const AnalyticDevice& cache = parameters.cache;
  const double room = (time - launch_time(none, cache)).value();
  const auto positions = [room](Seconds fixed, Seconds per_position) {
    const double left = room - fixed.value();
    return left < 0 || per_position.value() > 0 ? left / per_position.value() : unlimited;
  };
  const double on_each =
      std::min({positions(none.bytes / cache.bandwidth, (one.bytes - none.bytes) / cache.bandwidth),
                positions(none.macs / cache.mac_rate, (one.macs - none.macs) / cache.mac_rate),
                positions(none.exps / cache.exp_rate, (one.exps - none.exps) / cache.exp_rate)});
  const bool by_positions = parameters.split.by == SplitBy::positions;
  return by_positions ? on_each * static_cast<double>(parameters.split.devices) : on_each;
}

std::optional<double> crossover_at(Seconds time, const AnalyticParameters& parameters) {
  const double found = positions_in(time, parameters);
  return found < 0 ? std::nullopt : std::optional(found);
}

/// Whether a sweep takes time in proportion to its positions, and has the memory to itself.
bool sweep_is_linear(const AnalyticParameters& parameters) {
  const bool scattered = parameters.split.by == SplitBy::any && parameters.split.devices > 1;
  return !scattered && !parameters.cache.kernel_time &&
         parameters.attention.form != AttentionForm::score_matrix &&
         parameters.attention.growth == CacheGrowth::in_place;
}

/// Whether one sweep at a time decides how long a merge waits.
bool one_sweep_decides(const AnalyticParameters& parameters) {
  return sweep_is_linear(parameters) && parameters.current_token == CurrentToken::merge &&
         parameters.split.devices == 1 && parameters.in_flight == 1 &&
         block_reads(parameters.block).q != ReadPoint::network_input;
}

Seconds port_time(const AnalyticParameters& parameters, Bytes bytes) {
  return parameters.link_message_overhead + bytes / parameters.link_bandwidth;
}

Seconds message_time(const AnalyticParameters& parameters, Bytes bytes) {
  return port_time(parameters, bytes) + parameters.link_latency;
}

/// Whether the port is free when a layer's q is ready: the k, v message of the layer before must
/// not outlast what the compute device does between sending it and q.
bool query_finds_port_free(const AnalyticParameters& parameters) {
  const AnalyticCosts costs(parameters);
  const Seconds port = port_time(parameters, costs.kv_message());
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
/// least (the first, in shifted_q).
Seconds time_beside_sweep(const AnalyticCosts& costs, const AnalyticParameters& parameters) {
  const BlockReads reads = block_reads(parameters.block);
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

Seconds kv_time(const AnalyticParameters& parameters) {
  const AnalyticCosts costs(parameters);
  return kv_together(block_reads(parameters.block))
             ? time_alone(costs.kv(), parameters.compute)
             : 2 * time_alone(costs.k_or_v(), parameters.compute);
}

}  // namespace

std::optional<double> ffn_crossover(const AnalyticParameters& parameters) {
  if (!sweep_is_linear(parameters)) {
    return std::nullopt;
  }
  return crossover_at(time_alone(AnalyticCosts(parameters).ffn(), parameters.compute), parameters);
}

std::optional<double> latency_crossover(const AnalyticParameters& parameters) {
  if (!one_sweep_decides(parameters) || !query_finds_port_free(parameters)) {
    return std::nullopt;
  }
  const AnalyticCosts costs(parameters);
  const Seconds messages = message_time(parameters, costs.q_message()) +
                           message_time(parameters, costs.partial_message());
  return crossover_at(time_beside_sweep(costs, parameters) - messages, parameters);
}

std::optional<double> busy_crossover(const AnalyticParameters& parameters) {
  if (!sweep_is_linear(parameters)) {
    return std::nullopt;
  }
  const AnalyticCosts costs(parameters);
  const AnalyticCosts shard = AnalyticCosts::of_shard(parameters);
  const bool by_heads = parameters.split.by == SplitBy::heads;
  // The current rows land while o or the sweep has the same memory and makes it the later; of a
  // cache split by positions, on a device that the formula does not know.
  const Seconds append = shard.append(0) / parameters.cache.bandwidth;
  if (append > Seconds(0) && parameters.split.devices > 1 && !by_heads) {
    return std::nullopt;
  }
  const AnalyticDevice& with_projections =
      parameters.pooled_projections ? parameters.compute : parameters.cache;
  const Seconds pool = time_alone(costs.ffn(), parameters.compute) + kv_time(parameters) - append;
  const Seconds projections =
      time_alone(costs.q(), with_projections) + time_alone(costs.o(), with_projections);
  return crossover_at(parameters.pooled_projections ? pool + projections : pool - projections,
                      parameters);
}

std::optional<double> pooled_latency_crossover(const AnalyticParameters& parameters) {
  const BlockReads reads = block_reads(parameters.block);
  if (!one_sweep_decides(parameters) || q_reads_ffn(reads)) {
    return std::nullopt;
  }
  const AnalyticCosts costs(parameters);
  Seconds call = kv_time(parameters);
  Bytes reply = costs.kv_message();
  if (reads.ffn_first) {
    call += time_alone(costs.ffn(), parameters.compute);
    reply += costs.residual_message();
  }
  if (parameters.pooled_projections) {
    const Seconds q_port = port_time(parameters, costs.q_message());
    return crossover_at(std::max(call, q_port) + port_time(parameters, reply) - q_port, parameters);
  }
  const Seconds messages =
      message_time(parameters, costs.residual_message()) + message_time(parameters, reply);
  return crossover_at(messages + call - time_alone(costs.q(), parameters.cache), parameters);
}

}  // namespace qfs
