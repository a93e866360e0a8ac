#include "analysis/crossover.hpp"

#include "analysis/operation_costs.hpp"

namespace qfs {
namespace {

AnalyticParameters weights_and_sweep_only(const AnalyticParameters& parameters) {
  AnalyticParameters counted = parameters;
  counted.accounting = Accounting::weights_and_sweep;
  return counted;
}

double positions(double hidden, double per_position) {
  return per_position > 0 ? hidden / per_position : unlimited;
}

Seconds message_time(const AnalyticParameters& parameters, Bytes bytes) {
  return parameters.link_message_overhead + bytes / parameters.link_bandwidth +
         parameters.link_latency;
}

}  // namespace

double ffn_crossover(const AnalyticParameters& parameters) {
  const AnalyticParameters counted = weights_and_sweep_only(parameters);
  const AnalyticCosts costs(counted);
  return positions((costs.ffn().bytes / counted.compute.bandwidth).value(),
                   (costs.sweep(1).bytes / counted.cache.bandwidth).value());
}

std::optional<double> latency_crossover(const AnalyticParameters& parameters) {
  if (parameters.current_token == CurrentToken::append_first) {
    return std::nullopt;
  }
  const AnalyticParameters counted = weights_and_sweep_only(parameters);
  const AnalyticCosts costs(counted);
  Seconds beside = time_alone(costs.kv(), counted.compute);
  if (counted.block == BlockOrder::early_q) {
    beside += time_alone(costs.ffn(), counted.compute);
  }
  const Seconds fixed = message_time(counted, costs.q_message()) +
                        message_time(counted, costs.partial_message()) +
                        time_alone(costs.sweep(0), counted.cache);
  const double hidden = (beside - fixed).value();
  if (hidden < 0) {
    return std::nullopt;
  }
  const Seconds one = time_alone(costs.sweep(1), counted.cache);
  return positions(hidden, (one - time_alone(costs.sweep(0), counted.cache)).value());
}

}  // namespace qfs
