// What the numeric check recomputes of attention beyond the plain sweep: the current token in a
// merge, the phases of a calibrated sweep, and what a missing row would have done.
#include <algorithm>
#include <cmath>
#include <limits>

#include "decode/recompute.hpp"
#include "kernels/attention.hpp"

namespace qfs {
namespace {

using Vector = std::vector<double>;

constexpr double infinite = std::numeric_limits<double>::infinity();

ReferenceRows reference_rows(const KvCache& cache, const ModelShape& own, std::size_t positions) {
  const auto read = [&cache](std::size_t position, std::span<double> k, std::span<double> v) {
    std::vector<float> k_row(k.size());
    std::vector<float> v_row(v.size());
    cache.read(position, k_row, v_row);
    std::ranges::copy(k_row, k.begin());
    std::ranges::copy(v_row, v.begin());
  };
  return {positions, own.kv_heads, own.head_dim, read};
}

/// How far a score or the log of a sum lies outside of what is right: absolutely below 1,
/// relatively above.
double range_error(double got, const WeightRange& right) {
  if (got >= right.low && got <= right.high) {
    return 0;
  }
  const double beyond = got > right.high ? got - right.high : right.low - got;
  const double error = beyond / std::max(1.0, std::abs(right.high));
  if (std::isfinite(error)) {
    return error;
  }
  return infinite;
}

double worst_range_error(std::span<const float> got, std::span<const WeightRange> right) {
  double worst = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    worst = std::max(worst, range_error(got[i], right[i]));
  }
  return worst;
}

/// The same of scores, which are logs too; of those that are masked, infinite.
double worst_score_error(std::span<const float> got, std::span<const double> want) {
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    worst = std::max(worst, range_error(got[i], {want[i], want[i]}));
  }
  return worst;
}

/// Relative L2, of what is beyond each head's room.
double output_error(std::span<const float> got, const ValuesReference& want) {
  const std::size_t heads = want.lse.size();
  const std::size_t d = want.o.size() / heads;
  double beyond = 0;
  double norm = 0;
  for (std::size_t head = 0; head < heads; ++head) {
    double square = 0;
    for (std::size_t i = head * d; i < (head + 1) * d; ++i) {
      square += std::pow(got[i] - want.o[i], 2);
      norm += std::pow(want.o[i], 2);
    }
    const double distance = std::sqrt(square);
    beyond += std::pow(distance > want.o_room[head] ? distance - want.o_room[head] : 0.0, 2);
    if (std::isnan(distance)) {
      return infinite;
    }
  }
  return beyond == 0 ? 0 : std::sqrt(beyond / norm);
}

}  // namespace

/// By its score, or as a state of one position with the weight that the row's holders gave it.
void OperationReference::fold_current(const Operation& merge, const Arguments& arguments, Vector& o,
                                      Vector& lse) const {
  const std::size_t d = shape().head_dim;
  const ValueKind first = merge.inputs.front().value;
  if (first == ValueKind::q) {
    fold_reference(arguments[0], arguments[1], arguments[2], d, o, lse);
  }
  if (first != ValueKind::v) {
    return;
  }
  std::size_t head = 0;
  for (std::size_t index = 1; merge.inputs[index].value == ValueKind::weight; ++index) {
    for (const double weight : arguments[index]) {
      const std::size_t kv = head / shape().group() * d;
      lse[head] = merge_reference(std::span(o).subspan(head * d, d), lse[head],
                                  std::span(arguments[0]).subspan(kv, d), weight);
      ++head;
    }
  }
}

double Recomputation::scores_error(const Operation& scores, const KvCache& history) const {
  const ModelShape own = part_of(shape(), scores.part);
  const std::span<const float> got = log_.of(scores.id);
  const Vector want =
      scores_reference(argument(scores, 0), reference_rows(history, own, scores.positions));
  if (got.size() != want.size()) {
    return infinite;
  }
  for (std::size_t head = 0; head < own.heads; ++head) {
    const auto of_head = got.subspan(2 * own.heads + head * scores.positions, scores.positions);
    if (extrema_of(of_head) != Extrema<float>{got[head], got[own.heads + head]}) {
      return infinite;
    }
  }
  return worst_score_error(got.subspan(2 * own.heads), std::span(want).subspan(2 * own.heads));
}

Vector Recomputation::logged_current_scores(const Operation& values) const {
  const std::span<const float> got = log_.of(values.id);
  const std::size_t heads = part_of(shape(), values.part).heads;
  const auto scores = got.last(std::min(heads, got.size()));
  return {scores.begin(), scores.end()};
}

ValuesReference Recomputation::recompute_values(const Operation& values,
                                                const KvCache& history) const {
  std::vector<Vector> extrema;
  for (std::size_t index = 0; index < values.inputs.size(); ++index) {
    if (values.inputs[index].value == ValueKind::extrema) {
      extrema.push_back(argument(values, index));
    }
  }
  const ModelShape own = part_of(shape(), values.part);
  const ReferenceRows rows = reference_rows(history, own, values.positions);
  const Vector current = logged_current_scores(values);
  const Vector* weighed = weighs_current_token(values) ? &current : nullptr;
  return values_reference(unit_, anchors_reference(extrema, weighed), argument(values, 0), rows,
                          weighed);
}

double Recomputation::values_error(const Operation& values, const ValuesReference& want) const {
  const std::span<const float> got = log_.of(values.id);
  const std::size_t width = want.o.size();
  const std::size_t heads = want.lse.size();
  if (got.size() != output_size(shape(), values)) {
    return infinite;
  }
  const double error = std::max(output_error(got.first(width), want),
                                worst_range_error(got.subspan(width, heads), want.lse_range));
  if (!weighs_current_token(values)) {
    return error;
  }
  const std::size_t q = values.inputs.size() - 2;  // then k
  const Vector scores =
      key_scores_reference(argument(values, q), argument(values, q + 1), shape().head_dim);
  return std::max({error, worst_range_error(got.subspan(width + heads, heads), want.current_range),
                   worst_score_error(got.last(heads), scores)});
}

double Recomputation::omission_effect(const Sweep& sweep, const KvCache& history,
                                      std::size_t row) const {
  const std::size_t d = shape().head_dim;
  Vector k(sweep.q.size() / shape().group());
  std::vector<float> k_row(k.size());
  std::vector<float> v_row(k.size());
  history.read(row, k_row, v_row);
  std::ranges::copy(k_row, k.begin());
  Vector shares = key_scores_reference(sweep.q, k, d);
  std::ranges::transform(shares, sweep.lse, shares.begin(),
                         [](double score, double lse) { return std::exp(score - lse); });
  return omission_effect(sweep.o, shares, history, row);
}

double Recomputation::omission_effect(const ValuesReference& values, const KvCache& history,
                                      std::size_t row) const {
  return omission_effect(values.o, row == 0 ? values.oldest : values.newest, history, row);
}

/// Without row j of share w the rest renormalises: o' - o = (o - v_j) w / (1 - w), per head; a head
/// of which nothing is left counts as lost.
double Recomputation::omission_effect(std::span<const double> o, std::span<const double> shares,
                                      const KvCache& history, std::size_t row) const {
  const std::size_t d = shape().head_dim;
  std::vector<float> k(o.size() / shape().group());
  std::vector<float> v(k.size());
  history.read(row, k, v);
  double change = 0;
  double norm = 0;
  for (std::size_t head = 0; head < shares.size(); ++head) {
    const double w = shares[head];
    for (std::size_t i = 0; i < d; ++i) {
      const double own = o[head * d + i];
      const double value = v[head / shape().group() * d + i];
      change += std::pow(w < 1 ? (own - value) * w / (1 - w) : own, 2);
      norm += own * own;
    }
  }
  return change == 0 ? 0 : std::sqrt(change / norm);
}

}  // namespace qfs
