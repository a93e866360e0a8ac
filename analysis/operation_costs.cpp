#include "analysis/operation_costs.hpp"

#include <algorithm>

#include "analysis/block_reads.hpp"

namespace qfs {
namespace {

constexpr std::int64_t lse_bytes = 4;    // fp32, whatever the wire's format
constexpr std::int64_t token_bytes = 4;  // the arg max that the LM head writes

constexpr std::int64_t count(std::size_t value) { return static_cast<std::int64_t>(value); }

// An int8 row carries its fp32 scale.
constexpr Bytes bytes_of(std::size_t rows, std::size_t values, Format format) {
  const std::size_t scale = format == Format::int8 ? 4 : 0;
  return Bytes(count(rows * (values * bytes_per_value(format) + scale)));
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
  cost.bytes = bytes_of(out, in, parameters_.formats.weights);
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
  return bytes_of(1, parameters_.shape.hidden, parameters_.formats.residual_wire);
}

// One value per query channel: the query, and the attention's output, of one request.
Bytes AnalyticCosts::attention() const {
  return bytes_of(parameters_.shape.heads, parameters_.shape.head_dim, parameters_.formats.wire);
}

Bytes AnalyticCosts::current_k() const {
  return bytes_of(parameters_.shape.kv_heads, parameters_.shape.head_dim, parameters_.formats.wire);
}

Bytes AnalyticCosts::cache_row() const {
  return bytes_of(2 * parameters_.shape.kv_heads, parameters_.shape.head_dim,
                  parameters_.formats.kv);
}

Bytes AnalyticCosts::q_message() const { return count(parameters_.batch) * attention(); }

Bytes AnalyticCosts::kv_message() const { return count(parameters_.batch) * 2 * current_k(); }

Bytes AnalyticCosts::k_or_v_message() const { return count(parameters_.batch) * current_k(); }

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
  return with_activations(product(shape.hidden, 2 * shape.kv_width()),
                          residual() + 2 * current_k());
}

AnalyticCost AnalyticCosts::k_or_v() const {
  const ModelShape& shape = parameters_.shape;
  return with_activations(product(shape.hidden, shape.kv_width()), residual() + current_k());
}

AnalyticCost AnalyticCosts::qkv() const {
  const ModelShape& shape = parameters_.shape;
  const std::size_t width = shape.q_width() + 2 * shape.kv_width();
  return with_activations(product(shape.hidden, width), residual() + attention() + 2 * current_k());
}

// Per query head and position: head_dim MACs for the score, head_dim for the value, one
// exponential.
AnalyticCost AnalyticCosts::sweep(std::size_t positions) const {
  const ModelShape& shape = parameters_.shape;
  const bool square = parameters_.attention.form == AttentionForm::score_matrix;
  const std::int64_t scores =  // of one head
      count(parameters_.batch) * count(positions) * (square ? count(positions) : 1);
  AnalyticCost cost;
  cost.launches = 1;
  cost.bytes = count(parameters_.batch) * swept_bytes(positions);
  cost.macs = Macs(scores * 2 * count(shape.q_width()));
  cost.exps = Exps(scores * count(shape.heads));
  const Bytes lse(count(shape.heads) * lse_bytes);
  return with_activations(cost, 2 * attention() + lse + matrix_bytes(positions));
}

// 003: K and V once; a transposed K is written and read besides, copies for every query head
// likewise.
Bytes AnalyticCosts::swept_bytes(std::size_t positions) const {
  const ModelShape& shape = parameters_.shape;
  const std::int64_t rows = count(positions);
  const Bytes once = rows * cache_row();
  switch (parameters_.attention.form) {
    case AttentionForm::minimal:
    case AttentionForm::score_matrix:
      return once;
    case AttentionForm::transposed_k:
      return once + rows * cache_row();  // K is half of it: written, read
    case AttentionForm::expanded_heads:
      return once + 2 * rows * bytes_of(2 * shape.heads, shape.head_dim, parameters_.formats.kv);
  }
  return once;
}

// The n x n scores and the n x n weights of every head are written and read; n - 1 more queries
// come in and n - 1 more outputs go out. All in fp32.
Bytes AnalyticCosts::matrix_bytes(std::size_t positions) const {
  if (parameters_.attention.form != AttentionForm::score_matrix || positions == 0) {
    return Bytes(0);
  }
  const std::int64_t n = count(positions);
  const std::int64_t heads = count(parameters_.shape.heads);
  const std::int64_t matrices = 4 * n * n;
  const std::int64_t rows = 2 * (n - 1) * count(parameters_.shape.head_dim);
  return Bytes(4 * heads * (matrices + rows));
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
  AnalyticCost cost = product(shape.hidden, 2 * shape.ffn);  // gate with up, one launch
  cost += product(shape.ffn, shape.hidden);                  // down
  cost.exps = Exps(count(parameters_.batch) * count(shape.ffn));
  return with_activations(cost, residual() + residual());
}

AnalyticCost AnalyticCosts::lm_head() const {
  const ModelShape& shape = parameters_.shape;
  return with_activations(product(shape.hidden, shape.vocab), residual() + Bytes(token_bytes));
}

Bytes AnalyticCosts::append(std::size_t token) const {
  if (parameters_.accounting == Accounting::weights_and_sweep) {
    return Bytes(0);
  }
  const bool copies = parameters_.attention.growth == CacheGrowth::copying;
  const std::int64_t old_rows = copies ? count(parameters_.context + token) : 0;
  return count(parameters_.batch) * (2 * old_rows + 1) * cache_row();
}

std::size_t AnalyticCosts::swept_positions(std::size_t token) const {
  const std::size_t own = parameters_.current_token == CurrentToken::append_first ? 1 : 0;
  return parameters_.context + token + own;
}

bool AnalyticCosts::fused_qkv(std::size_t layer) const {
  return parameters_.current_token == CurrentToken::append_first &&
         qkv_together(block_reads(parameters_.block), layer);
}

AnalyticCost AnalyticCosts::static_layers() const {
  AnalyticCost cost;
  for (std::size_t layer = 0; layer < parameters_.shape.layers; ++layer) {
    cost += o();
    cost += ffn();
    if (fused_qkv(layer)) {
      cost += qkv();
    } else if (cost += q(); kv_together(block_reads(parameters_.block))) {
      cost += kv();
    } else {
      cost += 2 * k_or_v();
    }
  }
  return cost;
}

}  // namespace qfs
