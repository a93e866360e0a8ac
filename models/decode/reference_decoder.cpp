#include "decode/reference_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "kernels/activation.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "kernels/rotary.hpp"

namespace qfs {
namespace {

std::vector<double> sum(std::vector<double> a, const std::vector<double>& b) {
  std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<>());
  return a;
}

/// Row: doubles or floats.
template <class Row>
double dot(std::span<const double> q, const Row& row) {
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (std::size_t i = 0; i < q.size(); ++i) {
    total += q[i] * double{row[i]};
  }
  return total;
}

template <class Row>
void add_scaled(std::span<double> sum, double weight, const Row& row) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += weight * double{row[i]};
  }
}

std::vector<double> product(const RowStore& w, const std::vector<double>& x) {
  std::vector<double> y(w.view().rows);
  linear_reference(w.view(), x, y);
  return y;
}

/// Scores to weights that sum to one.
void exact_softmax(std::vector<double>& scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double& score : scores) {
    score = std::exp(score - top);
    total += score;
  }
  for (double& score : scores) {
    score /= total;
  }
}

/// The unit on the grid of all scores but the last, which weighs e^{s-M} on it.
void history_softmax(const SoftmaxUnit& unit, std::vector<double>& scores) {
  const std::span<double> history = std::span(scores).first(scores.size() - 1);
  if (history.empty()) {
    scores.back() = 1;
    return;
  }
  const Extrema<double> extrema = extrema_of<double>(history);
  // All weights relative to e^max of the row, so that a far higher last score cannot overflow.
  const double top = std::max(extrema.max, scores.back());
  double total = std::exp(scores.back() - top);
  scores.back() = total;
  for (double& score : history) {
    score = weight_reference(unit, extrema, score) * std::exp(extrema.max - top);
    total += score;
  }
  for (double& score : scores) {
    score /= total;
  }
}

void softmax(const SoftmaxChoice& choice, std::vector<double>& scores) {
  if (!choice.is_calibrated()) {
    exact_softmax(scores);
  } else if (choice.calibration == Calibration::history) {
    history_softmax(choice.unit, scores);
  } else {
    const std::vector<double> row = scores;
    softmax_row_reference(choice.unit, row, scores);
  }
}

}  // namespace

ReferenceDecoder::ReferenceDecoder(const Inputs& inputs, BlockOrder block, RequestId request,
                                   const SoftmaxChoice& softmax)
    : inputs_(inputs),
      block_(block),
      request_(request),
      softmax_(softmax),
      position_(inputs.config().contexts[request.value()]),
      history_(inputs.shape().layers) {}

std::vector<double> ReferenceDecoder::step(std::vector<double> x) {
  network_input_ = x;
  before_ffn_ = x;
  for (LayerId id{0}; id.value() < inputs_.shape().layers; ++id) {
    x = layer(id, x);
  }
  ++position_;
  return x;
}

ReferenceDecoder::Vector ReferenceDecoder::layer(LayerId id, const Vector& x) {
  switch (block_) {
    case BlockOrder::standard: {
      const Vector y = sum(x, attention(id, x, x, x));
      return sum(y, feed_forward(id, y));
    }
    case BlockOrder::swapped: {
      const Vector z = sum(x, feed_forward(id, x));
      return sum(z, attention(id, z, z, z));
    }
    case BlockOrder::early_q: {
      const Vector z = sum(x, feed_forward(id, x));
      return sum(z, attention(id, x, z, z));
    }
    case BlockOrder::early_k: {
      const Vector z = sum(x, feed_forward(id, x));
      return sum(z, attention(id, z, x, z));
    }
    case BlockOrder::early_qk: {
      const Vector z = sum(x, feed_forward(id, x));
      return sum(z, attention(id, x, x, z));
    }
    case BlockOrder::parallel:
      return sum(sum(x, attention(id, x, x, x)), feed_forward(id, x));
    case BlockOrder::shifted_q: {
      const Vector y = sum(x, attention(id, before_ffn_, x, x));
      before_ffn_ = y;
      return sum(y, feed_forward(id, y));
    }
    case BlockOrder::single_q: {
      const Vector y = sum(x, attention(id, network_input_, x, x));
      return sum(y, feed_forward(id, y));
    }
  }
  throw std::logic_error("ReferenceDecoder: unknown block order");
}

ReferenceDecoder::Vector ReferenceDecoder::project(const RowStore& w, const std::vector<Bf16>& norm,
                                                   const Vector& x) const {
  Vector normed(x.size());
  rms_norm_reference(x, norm, inputs_.shape().norm_epsilon, normed);
  return product(w, normed);
}

void ReferenceDecoder::finish_heads(Vector& heads, const std::vector<Bf16>& gain) const {
  const ModelShape& shape = inputs_.shape();
  if (shape.qk_norm) {
    head_norm_reference(heads, gain, shape.norm_epsilon);
  }
  rotary_reference(heads, shape.head_dim, position_, shape.rope_theta);
}

ReferenceDecoder::Vector ReferenceDecoder::attention(LayerId id, const Vector& q_from,
                                                     const Vector& k_from, const Vector& v_from) {
  const ModelShape& shape = inputs_.shape();
  const LayerWeights& weights = inputs_.weights().layer(id);
  Vector q = project(weights.q, weights.attention_norm, q_from);
  Vector k = project(weights.k, weights.attention_norm, k_from);
  finish_heads(q, weights.q_norm);
  finish_heads(k, weights.k_norm);
  history_[id.value()].k.push_back(std::move(k));
  history_[id.value()].v.push_back(project(weights.v, weights.attention_norm, v_from));

  Vector o(q.size(), 0.0);
  for (std::size_t head = 0; head < shape.heads; ++head) {
    const std::size_t at = head * shape.head_dim;
    attend(id, head, std::span(q).subspan(at, shape.head_dim),
           std::span(o).subspan(at, shape.head_dim));
  }
  return product(weights.o, o);
}

void ReferenceDecoder::attend(LayerId id, std::size_t head, std::span<const double> q,
                              std::span<double> o) const {
  const std::size_t d = q.size();
  const std::size_t kv_head = head / inputs_.shape().group();
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  const KvCache& initial = inputs_.cache(request_, id);
  const History& made = history_[id.value()];
  const auto own = [&](const Vector& row) { return std::span(row).subspan(kv_head * d, d); };

  const std::size_t cached = initial.positions();
  std::vector<float> k(d);
  std::vector<float> v(d);
  Vector weights;
  for (std::size_t t = 0; t < cached; ++t) {
    initial.read_head(kv_head, t, k, v);
    weights.push_back(scale * dot(q, k));
  }
  for (const Vector& row : made.k) {
    weights.push_back(scale * dot(q, own(row)));
  }
  softmax(softmax_, weights);
  for (std::size_t t = 0; t < cached; ++t) {
    initial.read_head(kv_head, t, k, v);
    add_scaled(o, weights[t], v);
  }
  for (std::size_t t = 0; t < made.v.size(); ++t) {
    add_scaled(o, weights[cached + t], own(made.v[t]));
  }
}

ReferenceDecoder::Vector ReferenceDecoder::feed_forward(LayerId id, const Vector& x) const {
  const LayerWeights& weights = inputs_.weights().layer(id);
  Vector gate = project(weights.gate, weights.ffn_norm, x);
  const Vector up = project(weights.up, weights.ffn_norm, x);
  swiglu_reference(gate, up, gate);
  return product(weights.down, gate);
}

std::vector<double> ReferenceDecoder::logits(std::span<const double> output) const {
  Vector normed(output.size());
  rms_norm_reference(output, inputs_.weights().final_norm, inputs_.shape().norm_epsilon, normed);
  const Matrix head = inputs_.weights().lm_head();
  Vector scores(head.rows);
  linear_reference(head, normed, scores);
  return scores;
}

}  // namespace qfs
