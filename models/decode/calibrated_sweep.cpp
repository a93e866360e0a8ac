#include "decode/calibrated_sweep.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace qfs {
namespace {

using Floats = std::span<const float>;

/// Row `head` of a matrix with one row a head.
Floats row_of(Floats matrix, std::size_t head, std::size_t heads) {
  const std::size_t width = matrix.size() / heads;
  return matrix.subspan(head * width, width);
}

/// The weights of one head, and what follows from them.
struct HeadWeights {
  double sum = 0;
  float lse = masked<float>;
  float current = masked<float>;  // log weight
};

HeadWeights weigh_head(CalibratedUnit<float>& unit, const Extrema<float>& anchors, Floats scores,
                       std::span<float> head_weights, const float* current) {
  unit.calibrate(anchors);
  weights(unit, scores, head_weights);
  HeadWeights head;
  head.sum = weight_sum<float>(head_weights);
  head.lse = static_cast<float>(log_sum(anchors, head.sum));
  if (current != nullptr) {
    float weight = 0;
    weights(unit, Floats(current, 1), std::span(&weight, 1));
    head.current = static_cast<float>(log_sum(anchors, double{weight}));
  }
  return head;
}

void divide(std::span<float> o, double sum) {
  if (sum > 0) {
    std::ranges::for_each(o, [sum](float& x) { x = static_cast<float>(double{x} / sum); });
  }
}

}  // namespace

std::vector<float> score_rows(Floats q, const KvRows& rows, std::size_t positions) {
  assert(rows.positions <= positions);
  const std::size_t heads = q.size() / rows.head_dim;
  std::vector<float> landed(heads * rows.positions);
  attention_scores(q, rows, landed);
  std::vector<float> output(heads * (2 + positions), masked<float>);
  for (std::size_t head = 0; head < heads; ++head) {
    const Floats scores = row_of(landed, head, heads);
    const Extrema<float> extrema = extrema_of(scores);
    output[head] = extrema.max;
    output[heads + head] = extrema.min;
    std::ranges::copy(scores,
                      output.begin() + static_cast<std::ptrdiff_t>(2 * heads + head * positions));
  }
  return output;
}

std::vector<float> score_key(Floats q, Floats k, std::size_t head_dim) {
  KvRows row;
  row.k = std::as_bytes(k).data();
  row.v = row.k;  // not read
  row.kv_heads = k.size() / head_dim;
  row.head_dim = head_dim;
  row.head_rows = 1;
  row.positions = 1;
  std::vector<float> scores(q.size() / head_dim);
  attention_scores(q, row, scores);
  return scores;
}

void widen(Anchors& anchors, Floats extrema) {
  const std::size_t heads = anchors.size();
  assert(extrema.size() == 2 * heads);
  for (std::size_t head = 0; head < heads; ++head) {
    anchors[head] = merged(anchors[head], {extrema[head], extrema[heads + head]});
  }
}

std::vector<float> weigh_rows(const SoftmaxUnit& unit, Anchors anchors, Floats scores,
                              const KvRows& rows,
                              const std::optional<std::vector<float>>& current) {
  const std::size_t heads = anchors.size();
  const std::size_t width = heads * rows.head_dim;
  CalibratedUnit<float> calibrated(unit, {});
  std::vector<float> output(width + heads * (current ? 3 : 1));
  std::vector<float> all_weights(heads * rows.positions);
  std::vector<double> sums(heads);
  for (std::size_t head = 0; head < heads; ++head) {
    const Floats own = row_of(scores, head, heads).first(rows.positions);
    anchors[head] = merged(anchors[head], extrema_of(own));
    if (current) {
      anchors[head] = merged(anchors[head], {(*current)[head], (*current)[head]});
    }
    const auto [sum, lse, weight] =
        weigh_head(calibrated, anchors[head], own,
                   std::span(all_weights).subspan(head * rows.positions, rows.positions),
                   current ? &(*current)[head] : nullptr);
    sums[head] = sum;
    output[width + head] = lse;
    if (current) {
      output[width + heads + head] = weight;
      output[width + 2 * heads + head] = (*current)[head];
    }
  }
  const std::span<float> o = std::span(output).first(width);
  weighted_values(all_weights, rows, o);
  for (std::size_t head = 0; head < heads; ++head) {
    divide(o.subspan(head * rows.head_dim, rows.head_dim), sums[head]);
  }
  return output;
}

}  // namespace qfs
