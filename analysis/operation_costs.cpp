#include "analysis/operation_costs.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "analysis/block_reads.hpp"

namespace qfs {
namespace {

constexpr std::int64_t lse_bytes = 4;    // fp32, whatever the wire's format
constexpr std::int64_t token_bytes = 4;  // the arg max that the LM head writes
constexpr std::int64_t logit_bytes = 4;  // by which the ranks' candidates are compared

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
  kernels.insert(kernels.end(), other.kernels.begin(), other.kernels.end());
  return *this;
}

AnalyticCost operator*(std::int64_t times, const AnalyticCost& cost) {
  AnalyticCost total{times * cost.launches, times * cost.bytes, times * cost.macs,
                     times * cost.exps};
  for (std::int64_t i = 0; i < times; ++i) {
    total.kernels.insert(total.kernels.end(), cost.kernels.begin(), cost.kernels.end());
  }
  return total;
}

Seconds launch_time(const AnalyticCost& cost, const AnalyticDevice& device) {
  if (device.kernel_time) {
    Seconds time(0);
    for (const AnalyticKernel& kernel : cost.kernels) {
      time += device.kernel_time(kernel);
    }
    return time;
  }
  return static_cast<double>(cost.launches) * device.launch_overhead;
}

Bytes streamed(const AnalyticCost& cost, const AnalyticDevice& device) {
  return device.kernel_time ? Bytes(0) : cost.bytes;
}

Seconds arithmetic_time(const AnalyticCost& cost, const AnalyticDevice& device) {
  if (device.kernel_time) {
    return Seconds(0);
  }
  return std::max(cost.macs / device.mac_rate, cost.exps / device.exp_rate);
}

Seconds time_alone(const AnalyticCost& cost, const AnalyticDevice& device) {
  const Seconds memory = streamed(cost, device) / device.bandwidth;
  return launch_time(cost, device) + std::max(memory, arithmetic_time(cost, device));
}

AnalyticCosts::AnalyticCosts(const AnalyticParameters& parameters, std::size_t slices)
    : parameters_(parameters), shape_(parameters.shape) {
  shape_.heads /= slices;
  shape_.kv_heads /= slices;
  shape_.ffn /= slices;
  shape_.vocab /= slices;
}

// Weights are read once for the wave, multiplied once per request.
AnalyticCost AnalyticCosts::product(std::size_t in, std::size_t out) const {
  const std::int64_t values = count(in) * count(out);
  AnalyticCost cost;
  cost.launches = 1;
  cost.bytes = bytes_of(out, in, parameters_.formats.weights);
  cost.macs = Macs(values * count(parameters_.batch));
  AnalyticKernel kernel;
  kernel.rows = parameters_.batch;
  kernel.inputs = in;
  kernel.outputs = out;
  kernel.element_bytes = bytes_per_value(parameters_.formats.weights);
  cost.kernels = {kernel};
  return cost;
}

AnalyticCost AnalyticCosts::with_activations(AnalyticCost cost, Bytes activations) const {
  if (parameters_.accounting == Accounting::full) {
    cost.bytes += count(parameters_.batch) * activations;
  }
  return cost;
}

Bytes AnalyticCosts::residual() const {
  return bytes_of(1, shape_.hidden, parameters_.formats.residual_wire);
}

// One value per query channel: the query, and the attention's output, of one request.
Bytes AnalyticCosts::attention() const {
  return bytes_of(shape_.heads, shape_.head_dim, parameters_.formats.wire);
}

Bytes AnalyticCosts::current_k() const {
  return bytes_of(shape_.kv_heads, shape_.head_dim, parameters_.formats.wire);
}

Bytes AnalyticCosts::cache_row() const {
  return bytes_of(2 * shape_.kv_heads, shape_.head_dim, parameters_.formats.kv);
}

Bytes AnalyticCosts::q_message() const { return count(parameters_.batch) * attention(); }

Bytes AnalyticCosts::kv_message() const { return kv_message(parameters_.batch); }

Bytes AnalyticCosts::kv_message(std::size_t members) const {
  return count(members) * 2 * current_k();
}

Bytes AnalyticCosts::k_or_v_message() const { return k_or_v_message(parameters_.batch); }

Bytes AnalyticCosts::k_or_v_message(std::size_t members) const {
  return count(members) * current_k();
}

Bytes AnalyticCosts::partial_message() const {
  const Bytes lse(count(shape_.heads) * lse_bytes);
  return count(parameters_.batch) * (attention() + lse);
}

Bytes AnalyticCosts::residual_message() const { return count(parameters_.batch) * residual(); }

Bytes AnalyticCosts::token() const {
  return Bytes(token_bytes + (parameters_.ranks > 1 ? logit_bytes : 0));
}

Bytes AnalyticCosts::token_message() const { return count(parameters_.batch) * token(); }

AnalyticCost AnalyticCosts::q() const {
  return with_activations(product(shape_.hidden, shape_.q_width()), residual() + attention());
}

AnalyticCost AnalyticCosts::kv() const {
  return with_activations(product(shape_.hidden, 2 * shape_.kv_width()),
                          residual() + 2 * current_k());
}

AnalyticCost AnalyticCosts::k_or_v() const {
  return with_activations(product(shape_.hidden, shape_.kv_width()), residual() + current_k());
}

AnalyticCost AnalyticCosts::qkv() const {
  const std::size_t width = shape_.q_width() + 2 * shape_.kv_width();
  return with_activations(product(shape_.hidden, width),
                          residual() + attention() + 2 * current_k());
}

AnalyticCost AnalyticCosts::sweep(std::size_t positions) const {
  return sweep(std::vector<std::size_t>(parameters_.batch, positions));
}

// Per query head and position: head_dim MACs for the score, head_dim for the value, one
// exponential.
AnalyticCost AnalyticCosts::sweep(std::span<const std::size_t> positions) const {
  const bool square = parameters_.attention.form == AttentionForm::score_matrix;
  AnalyticCost cost;
  cost.launches = 1;
  for (const std::size_t rows : positions) {
    const std::int64_t scores = count(rows) * (square ? count(rows) : 1);  // of one head
    cost.bytes += swept_bytes(rows);
    cost.macs += Macs(scores * 2 * count(shape_.q_width()));
    cost.exps += Exps(scores * count(shape_.heads));
    if (parameters_.accounting == Accounting::full) {
      cost.bytes += matrix_bytes(rows);
    }
  }
  cost.kernels = {swept_by_kernel(positions)};
  const Bytes lse(count(shape_.heads) * lse_bytes);
  return with_activations(cost, 2 * attention() + lse);
}

// Requests of unequal contexts count with their mean, rounded up.
AnalyticKernel AnalyticCosts::swept_by_kernel(std::span<const std::size_t> positions) const {
  AnalyticKernel kernel;
  kernel.kind = AnalyticKernel::Kind::sweep;
  kernel.rows = positions.size();
  kernel.heads = shape_.heads;
  kernel.kv_heads = shape_.kv_heads;
  kernel.head_dim = shape_.head_dim;
  const std::size_t all = std::accumulate(positions.begin(), positions.end(), std::size_t{0});
  kernel.positions = all / kernel.rows + (all % kernel.rows > 0 ? 1 : 0);
  kernel.element_bytes = bytes_per_value(parameters_.formats.kv);
  return kernel;
}

// 003: K and V once; a transposed K is written and read besides, copies for every query head
// likewise.
Bytes AnalyticCosts::swept_bytes(std::size_t positions) const {
  const std::int64_t rows = count(positions);
  const Bytes once = rows * cache_row();
  switch (parameters_.attention.form) {
    case AttentionForm::minimal:
    case AttentionForm::score_matrix:
      return once;
    case AttentionForm::transposed_k:
      return once + rows * cache_row();  // K is half of it: written, read
    case AttentionForm::expanded_heads:
      return once + 2 * rows * bytes_of(2 * shape_.heads, shape_.head_dim, parameters_.formats.kv);
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
  const std::int64_t heads = count(shape_.heads);
  const std::int64_t matrices = 4 * n * n;
  const std::int64_t rows = 2 * (n - 1) * count(shape_.head_dim);
  return Bytes(4 * heads * (matrices + rows));
}

// One rank of several writes a partial sum, to which `reduce` adds the residual.
AnalyticCost AnalyticCosts::o() const {
  Bytes activations = attention() + residual();
  if (parameters_.ranks == 1) {
    activations += residual();
  }
  if (parameters_.current_token == CurrentToken::append_first && parameters_.split.devices == 1) {
    activations += Bytes(count(shape_.heads) * lse_bytes);  // reads the sweep's result itself
  }
  return with_activations(product(shape_.q_width(), shape_.hidden), activations);
}

AnalyticCost AnalyticCosts::ffn() const {
  AnalyticCost cost = product(shape_.hidden, 2 * shape_.ffn);  // gate with up, one launch
  cost += product(shape_.ffn, shape_.hidden);                  // down
  cost.exps = Exps(count(parameters_.batch) * count(shape_.ffn));
  return with_activations(cost, residual() + residual());
}

AnalyticCost AnalyticCosts::reduce() const {
  AnalyticCost cost;
  cost.launches = 1;
  cost = with_activations(cost, (count(parameters_.ranks) + 2) * residual());
  AnalyticKernel kernel;
  kernel.kind = AnalyticKernel::Kind::copy;
  kernel.bytes = cost.bytes;
  cost.kernels = {kernel};
  return cost;
}

AnalyticCost AnalyticCosts::lm_head() const {
  return with_activations(product(shape_.hidden, shape_.vocab), residual() + token());
}

Bytes AnalyticCosts::append(std::size_t token) const {
  return append(std::vector<std::size_t>(parameters_.batch, parameters_.context + token));
}

Bytes AnalyticCosts::append(std::span<const std::size_t> rows) const {
  if (parameters_.accounting == Accounting::weights_and_sweep) {
    return Bytes(0);
  }
  const bool copies = parameters_.attention.growth == CacheGrowth::copying;
  const std::size_t old_rows =
      copies ? std::accumulate(rows.begin(), rows.end(), std::size_t{0}) : 0;
  return count(2 * old_rows + rows.size()) * cache_row();
}

std::size_t AnalyticCosts::swept_positions(std::size_t token) const {
  const std::size_t own = parameters_.current_token == CurrentToken::append_first ? 1 : 0;
  return parameters_.context + token + own;
}

bool AnalyticCosts::fused_qkv(std::size_t layer) const {
  return parameters_.current_token == CurrentToken::append_first &&
         qkv_together(block_reads(parameters_.block), layer);
}

}  // namespace qfs
