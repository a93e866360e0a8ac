#include "decode/recompute.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/activation.hpp"
#include "kernels/attention.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "kernels/rotary.hpp"

namespace qfs {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::vector<double> product(const Matrix& w, const std::vector<double>& x) {
  std::vector<double> y(w.rows);
  linear_reference(w, x, y);
  return y;
}

void add_to(std::vector<double>& sum, const std::vector<double>& term) {
  std::transform(sum.begin(), sum.end(), term.begin(), sum.begin(), std::plus<>());
}

std::vector<double> widened(std::span<const float> values) {
  return {values.begin(), values.end()};
}

/// A not-a-number is an infinite error: it must not pass any comparison.
double finite_or_infinite(double error) {
  if (std::isfinite(error)) {
    return error;
  }
  return infinite;
}

/// Log-sum-exps are compared absolutely below 1 and relatively above; an empty state must be
/// exactly -infinity.
double lse_error(double got, double want) {
  if (std::isinf(want)) {
    return got == want ? 0 : infinite;
  }
  const double difference = std::abs(got - want) / std::max(1.0, std::abs(want));
  return finite_or_infinite(difference);
}

}  // namespace

double relative_error(std::span<const float> got, std::span<const double> want) {
  return relative_error(widened(got), want);
}

double relative_error(std::span<const double> got, std::span<const double> want) {
  if (got.size() != want.size()) {
    return infinite;
  }
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  if (difference == 0) {
    return 0;
  }
  const double ratio = std::sqrt(difference / norm);
  return finite_or_infinite(ratio);
}

OperationReference::Vector OperationReference::output(const Operation& operation,
                                                      const Arguments& arguments) const {
  switch (operation.kind) {
    case OpKind::embed:
      return embed(operation, arguments);
    case OpKind::merge:
      return merge(arguments);
    case OpKind::o:
      return project_output(operation, arguments);
    case OpKind::ffn:
      return feed_forward(operation, arguments[0]);
    case OpKind::q:
    case OpKind::k:
    case OpKind::v:
    case OpKind::kv:
    case OpKind::qkv:
      return project(operation, arguments[0]);
    case OpKind::append:
    case OpKind::sweep:
    case OpKind::lm_head:
      break;
  }
  throw std::logic_error("OperationReference::output: the operation has a form of its own");
}

OperationReference::Vector OperationReference::embed(const Operation& operation,
                                                     const Arguments& arguments) const {
  if (!inputs_.config().lm_head) {
    return widened(inputs_.seeded_input(operation.request, operation.step));
  }
  const std::size_t token = arguments.empty() ? inputs_.first_token(operation.request)
                                              : static_cast<std::size_t>(arguments[0][0]);
  std::vector<float> row(shape().hidden);
  inputs_.weights().embedding.view().read(token, row);
  return widened(row);
}

OperationReference::Vector OperationReference::normed(const Vector& x,
                                                      const std::vector<Bf16>& gain) const {
  Vector y(x.size());
  rms_norm_reference(x, gain, shape().norm_epsilon, y);
  return y;
}

void OperationReference::add_heads(const Operation& operation, const RowStore& w,
                                   const std::vector<Bf16>& gain, const Vector& x,
                                   Vector& output) const {
  Vector heads = product(w.view(), x);
  if (shape().qk_norm) {
    head_norm_reference(heads, gain, shape().norm_epsilon);
  }
  rotary_reference(heads, shape().head_dim, operation.position, shape().rope_theta);
  output.insert(output.end(), heads.begin(), heads.end());
}

OperationReference::Vector OperationReference::project(const Operation& operation,
                                                       const Vector& residual) const {
  const OpKind kind = operation.kind;
  const LayerWeights& w = weights(operation);
  const Vector x = normed(residual, w.attention_norm);
  Vector output;
  if (kind == OpKind::q || kind == OpKind::qkv) {
    add_heads(operation, w.q, w.q_norm, x, output);
  }
  if (kind == OpKind::k || kind == OpKind::kv || kind == OpKind::qkv) {
    add_heads(operation, w.k, w.k_norm, x, output);
  }
  if (kind == OpKind::v || kind == OpKind::kv || kind == OpKind::qkv) {
    const Vector v = product(w.v.view(), x);
    output.insert(output.end(), v.begin(), v.end());
  }
  return output;
}

OperationReference::Vector OperationReference::merge(const Arguments& arguments) const {
  Vector o = arguments[3];
  const auto heads_end = o.begin() + static_cast<std::ptrdiff_t>(shape().q_width());
  Vector lse(heads_end, o.end());
  o.erase(heads_end, o.end());
  fold_reference(arguments[0], arguments[1], arguments[2], shape().head_dim, o, lse);
  return o;
}

OperationReference::Vector OperationReference::project_output(const Operation& operation,
                                                              const Arguments& arguments) const {
  Vector attention = arguments[0];
  attention.resize(shape().q_width());  // of a partial, without lse
  Vector y = product(weights(operation).o.view(), attention);
  add_to(y, arguments[1]);
  return y;
}

OperationReference::Vector OperationReference::feed_forward(const Operation& operation,
                                                            const Vector& residual) const {
  const LayerWeights& w = weights(operation);
  const Vector x = normed(residual, w.ffn_norm);
  Vector gate = product(w.gate.view(), x);
  swiglu_reference(gate, product(w.up.view(), x), gate);
  Vector y = product(w.down.view(), gate);
  add_to(y, residual);
  return y;
}

OperationReference::Vector OperationReference::logits(const Vector& residual) const {
  return product(inputs_.weights().lm_head(), normed(residual, inputs_.weights().final_norm));
}

Recomputation::Recomputation(const Graph& graph, const Inputs& inputs, const NumericLog& log)
    : graph_(graph), inputs_(inputs), log_(log), reference_(inputs) {}

std::vector<double> Recomputation::argument(const Operation& operation, std::size_t index) const {
  const Edge& edge = operation.inputs[index];
  const Operation& producer = graph_[edge.from];
  std::vector<float> output = log_.of(edge.from);
  if (output.empty()) {
    throw std::logic_error("Recomputation: a producer was never executed");
  }
  round_output(shape(), inputs_.config().formats, producer.kind, output);
  const Slice slice = slice_of(shape(), producer.kind, edge.value);
  return widened(std::span(output).subspan(slice.offset, slice.count));
}

double Recomputation::error_of(const Operation& operation) const {
  if (operation.kind == OpKind::lm_head) {
    return lm_head_error(operation);
  }
  OperationReference::Arguments arguments;
  for (std::size_t index = 0; index < operation.inputs.size(); ++index) {
    arguments.push_back(argument(operation, index));
  }
  return relative_error(log_.of(operation.id), reference_.output(operation, arguments));
}

/// The chosen token's logit must be right, and no other may be larger by more than that error;
/// relative to the logits' root mean square.
double Recomputation::lm_head_error(const Operation& operation) const {
  const std::vector<float>& got = log_.of(operation.id);
  const std::vector<double> logits = reference_.logits(argument(operation, 0));
  const auto token = static_cast<std::size_t>(got.at(0));
  if (token >= logits.size()) {
    return infinite;
  }
  const double best = *std::max_element(logits.begin(), logits.end());
  const double error = std::max(std::abs(got.at(1) - logits[token]), best - logits[token]);
  double square = 0;
  for (const double logit : logits) {
    square += logit * logit;
  }
  const double relative = error / std::sqrt(square / static_cast<double>(logits.size()));
  return finite_or_infinite(relative);
}

Recomputation::Sweep Recomputation::recompute_sweep(const Operation& sweep,
                                                    const KvCache& history) const {
  Sweep want{argument(sweep, 0), std::vector<double>(shape().q_width()),
             std::vector<double>(shape().heads)};
  sweep_reference(want.q, history.rows(sweep.positions), want.o, want.lse);
  return want;
}

double Recomputation::sweep_error(const Operation& sweep, const Sweep& want) const {
  const std::span<const float> got = log_.of(sweep.id);
  const std::size_t width = shape().q_width();
  double error = sweep.positions == 0 ? 0 : relative_error(got.first(width), want.o);
  for (std::size_t head = 0; head < want.lse.size(); ++head) {
    error = std::max(error, lse_error(got[width + head], want.lse[head]));
  }
  return error;
}

double Recomputation::append_error(const Operation& append) const {
  std::vector<float> stored;
  for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {
    const std::vector<double> rows = argument(append, index);
    stored.insert(stored.end(), rows.begin(), rows.end());
  }
  round_rows(inputs_.config().formats.kv, shape().head_dim, stored);
  return relative_error(log_.of(append.id), widened(stored));
}

/// Without position j of weight w the rest renormalises: o' - o = (o - v_j) w / (1 - w), per head.
double Recomputation::omission_effect(const Sweep& sweep, const KvCache& history,
                                      std::size_t position) const {
  const std::size_t d = shape().head_dim;
  std::vector<float> k(shape().kv_width());
  std::vector<float> v(shape().kv_width());
  history.read(position, k, v);
  double change = 0;
  double norm = 0;
  for (std::size_t head = 0; head < shape().heads; ++head) {
    const std::size_t kv = head / shape().group() * d;
    double score = 0;
    for (std::size_t i = 0; i < d; ++i) {
      score += sweep.q[head * d + i] * k[kv + i];
    }
    const double w = std::exp(score / std::sqrt(static_cast<double>(d)) - sweep.lse[head]);
    for (std::size_t i = 0; i < d; ++i) {
      const double o = sweep.o[head * d + i];
      change += std::pow((o - v[kv + i]) * w / (1 - w), 2);
      norm += o * o;
    }
  }
  return std::sqrt(change / norm);
}

}  // namespace qfs
