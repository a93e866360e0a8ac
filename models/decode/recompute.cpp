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

/// The product of a part of the matrix's rows.
std::vector<double> product(const RowStore& w, const Part& part, const std::vector<double>& x) {
  const std::size_t count = w.view().rows / part.count;
  return product(rows_of(w.view(), part.index * count, count), x);
}

/// The product of a part of the matrix's columns with their x: the others count as zero.
std::vector<double> column_product(const RowStore& w, const Part& part,
                                   const std::vector<double>& x) {
  std::vector<double> padded(w.view().columns);
  std::copy(x.begin(), x.end(),
            padded.begin() + static_cast<std::ptrdiff_t>(part.index * x.size()));
  return product(w.view(), padded);
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
      return merge(operation, arguments);
    case OpKind::o:
      return project_output(operation, arguments);
    case OpKind::ffn:
      return feed_forward(operation, arguments[0]);
    case OpKind::reduce_o:
    case OpKind::reduce_ffn:
      return reduce(arguments);
    case OpKind::hold:
      return arguments[0];
    case OpKind::q:
    case OpKind::k:
    case OpKind::v:
    case OpKind::kv:
    case OpKind::qkv:
      return project(operation, arguments[0]);
    case OpKind::append:
    case OpKind::sweep:
    case OpKind::scores:
    case OpKind::values:
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
  std::size_t best = 0;  // of several candidates
  for (std::size_t index = 1; index < arguments.size(); ++index) {
    best = arguments[index][1] > arguments[best][1] ? index : best;
  }
  const std::size_t token = arguments.empty() ? inputs_.first_token(operation.request)
                                              : static_cast<std::size_t>(arguments[best][0]);
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
  Vector heads = product(w, operation.part, x);
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
    const Vector v = product(w.v, operation.part, x);
    output.insert(output.end(), v.begin(), v.end());
  }
  return output;
}

/// All states at once: o = sum of exp(lse_i - total) o_i, total the log-sum-exp of all lse_i;
/// states of different heads stand side by side.
OperationReference::Vector OperationReference::merge(const Operation& operation,
                                                     const Arguments& arguments) const {
  const ModelShape own = part_of(shape(), operation.part);
  const std::size_t d = own.head_dim;
  Vector o(own.q_width());
  Vector lse(own.heads, -infinite);
  const auto each_head = [&](auto&& visit) {  // of each state: its head, the whole's, its heads
    for (std::size_t index = 0; index < arguments.size(); ++index) {
      const Edge& edge = operation.inputs[index];
      if (edge.value != ValueKind::partial) {
        continue;
      }
      const std::size_t heads = part_of(shape(), edge.part).heads;
      const std::size_t first = heads == own.heads ? 0 : edge.part.index * heads;
      for (std::size_t head = 0; head < heads; ++head) {
        visit(arguments[index], head, first + head, heads);
      }
    }
  };
  each_head([&](const Vector& state, std::size_t head, std::size_t whole, std::size_t heads) {
    lse[whole] = log_add_exp_reference(lse[whole], state[heads * d + head]);
  });
  each_head([&](const Vector& state, std::size_t head, std::size_t whole, std::size_t heads) {
    const double own_lse = state[heads * d + head];
    for (std::size_t i = 0; i < d && own_lse > -infinite; ++i) {
      o[whole * d + i] += std::exp(own_lse - lse[whole]) * state[head * d + i];
    }
  });
  fold_current(operation, arguments, o, lse);
  return o;
}

OperationReference::Vector OperationReference::project_output(const Operation& operation,
                                                              const Arguments& arguments) const {
  Vector attention = arguments[0];
  attention.resize(part_of(shape(), operation.part).q_width());  // of a partial, without lse
  Vector y = column_product(weights(operation).o, operation.part, attention);
  if (operation.part.count == 1) {
    add_to(y, arguments[1]);
  }
  return y;
}

OperationReference::Vector OperationReference::feed_forward(const Operation& operation,
                                                            const Vector& residual) const {
  const LayerWeights& w = weights(operation);
  const Vector x = normed(residual, w.ffn_norm);
  Vector gate = product(w.gate, operation.part, x);
  swiglu_reference(gate, product(w.up, operation.part, x), gate);
  Vector y = column_product(w.down, operation.part, gate);
  if (operation.part.count == 1) {
    add_to(y, residual);
  }
  return y;
}

OperationReference::Vector OperationReference::reduce(const Arguments& arguments) const {
  Vector y = arguments[0];
  for (std::size_t index = 1; index < arguments.size(); ++index) {
    add_to(y, arguments[index]);
  }
  return y;
}

OperationReference::Vector OperationReference::logits(const Operation& lm_head,
                                                      const Vector& residual) const {
  const Matrix w = inputs_.weights().lm_head();
  const std::size_t count = w.rows / lm_head.part.count;
  return product(rows_of(w, lm_head.part.index * count, count),
                 normed(residual, inputs_.weights().final_norm));
}

Recomputation::Recomputation(const Graph& graph, const Inputs& inputs, const NumericLog& log,
                             const SoftmaxUnit& unit)
    : graph_(graph), inputs_(inputs), log_(log), reference_(inputs), unit_(unit) {}

std::vector<double> Recomputation::argument(const Operation& operation, std::size_t index) const {
  const Edge& edge = operation.inputs[index];
  const Operation& producer = graph_[edge.from];
  std::vector<float> output = log_.of(edge.from);
  if (output.empty()) {
    throw std::logic_error("Recomputation: a producer was never executed");
  }
  round_output(shape(), inputs_.config().formats, producer, output);
  const Slice slice = slice_of(shape(), producer, carried(edge));
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
  const std::vector<double> logits = reference_.logits(operation, argument(operation, 0));
  const auto token = static_cast<std::size_t>(got.at(0)) - operation.part.index * logits.size();
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
  const ModelShape own = part_of(shape(), sweep.part);
  Sweep want{argument(sweep, 0), std::vector<double>(own.q_width()),
             std::vector<double>(own.heads)};
  sweep_reference(want.q, history.rows(sweep.positions), want.o, want.lse);
  return want;
}

double Recomputation::sweep_error(const Operation& sweep, const Sweep& want) const {
  const std::span<const float> got = log_.of(sweep.id);
  const std::size_t width = want.o.size();
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

}  // namespace qfs
