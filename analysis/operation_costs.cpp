#include "analysis/operation_costs.hpp"

#include <algorithm>

namespace qfs {
namespace {

constexpr std::int64_t lse_bytes = 4;    // fp32, whatever the wire's format
constexpr std::int64_t token_bytes = 4;  // the arg max that the LM head writes

constexpr std::int64_t count(std::size_t value) { return static_cast<std::int64_t>(value); }

constexpr Bytes bytes_of(std::size_t values, Format format) {
  return Bytes(count(values * bytes_per_value(format)));
}

}  // namespace

AnalyticCost& AnalyticCost::operator+=(const AnalyticCost& other) {
  launches += other.launches;
  bytes += other.bytes;
  macs += other.macs;
  exps += other.exps;
  return *this;
}

AnalyticCost operator*(std::int64_t times, const AnalyticCost& cost) {
  return {times * cost.launches, times * cost.bytes, times * cost.macs, times * cost.exps};
}

Seconds launch_time(const AnalyticCost& cost, const AnalyticDevice& device) {
  return static_cast<double>(cost.launches) * device.launch_overhead;
}

Seconds arithmetic_time(const AnalyticCost& cost, const AnalyticDevice& device) {
  return std::max(cost.macs / device.mac_rate, cost.exps / device.exp_rate);
}

Seconds time_alone(const AnalyticCost& cost, const AnalyticDevice& device) {
  const Seconds memory = cost.bytes / device.bandwidth;
  return launch_time(cost, device) + std::max(memory, arithmetic_time(cost, device));
}

// Weights are read once for the wave, multiplied once per request.
AnalyticCost AnalyticCosts::product(std::size_t in, std::size_t out) const {
  const std::int64_t values = count(in) * count(out);
  AnalyticCost cost;
  cost.launches = 1;
  cost.bytes = Bytes(values * count(weight_bytes_per_value));
  cost.macs = Macs(values * count(parameters_.batch));
  return cost;
}

AnalyticCost AnalyticCosts::with_activations(AnalyticCost cost, Bytes activations) const {
  if (parameters_.accounting == Accounting::full) {
    cost.bytes += count(parameters_.batch) * activations;
  }
  return cost;
}

Bytes AnalyticCosts::residual() const {
  return bytes_of(parameters_.shape.hidden, parameters_.formats.residual_wire);
}

// One value per query channel: the query, and the attention's output, of one request.
Bytes AnalyticCosts::attention() const {
  return bytes_of(parameters_.shape.q_width(), parameters_.formats.wire);
}

Bytes AnalyticCosts::q_message() const { return count(parameters_.batch) * attention(); }

Bytes AnalyticCosts::kv_message() const {
  const Bytes k = bytes_of(parameters_.shape.kv_width(), parameters_.formats.wire);
  return count(parameters_.batch) * (k + k);
}

Bytes AnalyticCosts::partial_message() const {
  const Bytes lse(count(parameters_.shape.heads) * lse_bytes);
  return count(parameters_.batch) * (attention() + lse);
}

AnalyticCost AnalyticCosts::q() const {
  const ModelShape& shape = parameters_.shape;
  return with_activations(product(shape.hidden, shape.q_width()), residual() + attention());
}

AnalyticCost AnalyticCosts::kv() const {
  const ModelShape& shape = parameters_.shape;
  const Bytes k = bytes_of(shape.kv_width(), parameters_.formats.wire);
  return with_activations(product(shape.hidden, 2 * shape.kv_width()), residual() + k + k);
}

AnalyticCost AnalyticCosts::qkv() const {
  const ModelShape& shape = parameters_.shape;
  const Bytes k = bytes_of(shape.kv_width(), parameters_.formats.wire);
  const std::size_t width = shape.q_width() + 2 * shape.kv_width();
  return with_activations(product(shape.hidden, width), residual() + attention() + k + k);
}

// Per query head and position: head_dim MACs for the score, head_dim for the value, one
// exponential.
AnalyticCost AnalyticCosts::sweep(std::size_t positions) const {
  const ModelShape& shape = parameters_.shape;
  const std::int64_t rows = count(parameters_.batch) * count(positions);
  AnalyticCost cost;
  cost.launches = 1;
  cost.bytes = rows * bytes_of(2 * shape.kv_width(), parameters_.formats.kv);
  cost.macs = Macs(rows * 2 * count(shape.q_width()));
  cost.exps = Exps(rows * count(shape.heads));
  const Bytes lse(count(shape.heads) * lse_bytes);
  return with_activations(cost, attention() + attention() + lse);
}

AnalyticCost AnalyticCosts::o() const {
  const ModelShape& shape = parameters_.shape;
  Bytes in = attention();
  if (parameters_.current_token == CurrentToken::append_first) {
    in += Bytes(count(shape.heads) * lse_bytes);  // reads the sweep's result itself
  }
  return with_activations(product(shape.q_width(), shape.hidden), in + residual() + residual());
}

AnalyticCost AnalyticCosts::ffn() const {
  const ModelShape& shape = parameters_.shape;
  AnalyticCost cost = product(shape.hidden, 3 * shape.ffn);
  cost.launches = 2;  // gate with up, then down
  cost.exps = Exps(count(parameters_.batch) * count(shape.ffn));
  return with_activations(cost, residual() + residual());
}

AnalyticCost AnalyticCosts::lm_head() const {
  const ModelShape& shape = parameters_.shape;
  return with_activations(product(shape.hidden, shape.vocab), residual() + Bytes(token_bytes));
}

Bytes AnalyticCosts::append() const {
  if (parameters_.accounting == Accounting::weights_and_sweep) {
    return Bytes(0);
  }
  return count(parameters_.batch) *
         bytes_of(2 * parameters_.shape.kv_width(), parameters_.formats.kv);
}

std::size_t AnalyticCosts::swept_positions(std::size_t token) const {
  const std::size_t own = parameters_.current_token == CurrentToken::append_first ? 1 : 0;
  return parameters_.context + token + own;
}

bool AnalyticCosts::fused_qkv() const {
  return parameters_.current_token == CurrentToken::append_first &&
         parameters_.block != BlockOrder::early_q;
}

AnalyticCost AnalyticCosts::static_layer() const {
  AnalyticCost cost = o();
  cost += ffn();
  if (fused_qkv()) {
    cost += qkv();
  } else {
    cost += q();
    cost += kv();
  }
  return cost;
}

}  // namespace qfs
