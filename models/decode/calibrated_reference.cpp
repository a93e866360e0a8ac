#include "decode/calibrated_reference.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace qfs {
namespace {

using Vector = std::vector<double>;

double log_weight(const Extrema<double>& anchors, double weight) {
  return weight > 0 ? anchors.max + std::log(weight) : masked<double>;
}

WeightRange log_range(const Extrema<double>& anchors, const WeightRange& range) {
  return {log_weight(anchors, range.low), log_weight(anchors, range.high)};
}

/// The weights of one head over its rows.
struct HeadReference {
  Vector weights;
  std::vector<WeightRange> ranges;
  double sum = 0;
  WeightRange sum_range;

  HeadReference(const SoftmaxUnit& unit, const Extrema<double>& anchors,
                std::span<const double> scores) {
    for (const double score : scores) {
      const bool is_masked = score == masked<double>;
      weights.push_back(is_masked ? 0 : weight_reference(unit, anchors, score));
      ranges.push_back(is_masked ? WeightRange{} : weight_range_reference(unit, anchors, score));
      sum += weights.back();
      sum_range.low += ranges.back().low;
      sum_range.high += ranges.back().high;
    }
  }
};

void add_scaled(std::span<double> sum, double scale, std::span<const double> row) {
  std::ranges::transform(sum, row, sum.begin(), [=](double s, double x) { return s + scale * x; });
}

double distance(std::span<const double> a, std::span<const double> b) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::sqrt(square);
}

/// Fills o and o_room: another weight w' of a key moves o by (w' - w) (v - o) / W'.
void weigh_values(const std::vector<HeadReference>& heads, const ReferenceRows& rows,
                  ValuesReference& want) {
  const std::size_t d = rows.head_dim;
  const std::size_t group = heads.size() / rows.kv_heads;
  Vector k(rows.width());
  Vector v(rows.width());
  const auto each = [&](auto&& visit) {
    for (std::size_t position = 0; position < rows.positions; ++position) {
      rows.read(position, k, v);
      for (std::size_t head = 0; head < heads.size(); ++head) {
        visit(position, head, std::span(want.o).subspan(head * d, d),
              std::span(v).subspan(head / group * d, d));
      }
    }
  };
  each([&](std::size_t position, std::size_t head, std::span<double> o,
           std::span<const double> value) {
    const double weight = heads[head].weights[position];
    if (weight > 0) {
      add_scaled(o, weight / heads[head].sum, value);
    }
  });
  if (want.steps == 0) {
    return;
  }
  each([&](std::size_t position, std::size_t head, std::span<double> o,
           std::span<const double> value) {
    const auto [low, high] = heads[head].ranges[position];
    const double weight = heads[head].weights[position];
    if (high > low) {
      const double by = std::max(high - weight, weight - low);
      want.o_room[head] += by * distance(value, o) / heads[head].sum_range.low;
    }
  });
}

}  // namespace

Vector key_scores_reference(std::span<const double> q, std::span<const double> k,
                            std::size_t head_dim) {
  const std::size_t group = q.size() / k.size();
  Vector scores(q.size() / head_dim);
  for (std::size_t head = 0; head < scores.size(); ++head) {
    for (std::size_t i = 0; i < head_dim; ++i) {
      scores[head] += q[head * head_dim + i] * k[head / group * head_dim + i];
    }
    scores[head] /= std::sqrt(static_cast<double>(head_dim));
  }
  return scores;
}

Vector scores_reference(std::span<const double> q, const ReferenceRows& rows) {
  const std::size_t heads = q.size() / rows.head_dim;
  Vector output(heads * (2 + rows.positions));
  std::vector<Extrema<double>> extrema(heads);
  Vector k(rows.width());
  Vector v(rows.width());
  for (std::size_t position = 0; position < rows.positions; ++position) {
    rows.read(position, k, v);
    const Vector scores = key_scores_reference(q, k, rows.head_dim);
    for (std::size_t head = 0; head < heads; ++head) {
      output[2 * heads + head * rows.positions + position] = scores[head];
      extrema[head] = merged(extrema[head], {scores[head], scores[head]});
    }
  }
  for (std::size_t head = 0; head < heads; ++head) {
    output[head] = extrema[head].max;
    output[heads + head] = extrema[head].min;
  }
  return output;
}

ReferenceAnchors anchors_reference(std::span<const Vector> extrema, const Vector* current) {
  const std::size_t heads = extrema.front().size() / 2;
  ReferenceAnchors anchors(heads);
  for (std::size_t head = 0; head < heads; ++head) {
    for (const Vector& shard : extrema) {
      anchors[head] = merged(anchors[head], {shard[head], shard[heads + head]});
    }
    if (current != nullptr) {
      anchors[head] = merged(anchors[head], {(*current)[head], (*current)[head]});
    }
  }
  return anchors;
}

ValuesReference values_reference(const SoftmaxUnit& unit, const ReferenceAnchors& anchors,
                                 std::span<const double> scores, const ReferenceRows& rows,
                                 const Vector* current) {
  const std::size_t heads = anchors.size();
  assert(scores.size() == heads * rows.positions);
  ValuesReference want;
  want.o.resize(heads * rows.head_dim);
  want.o_room.resize(heads);
  std::vector<HeadReference> weighed;
  for (std::size_t head = 0; head < heads; ++head) {
    const HeadReference& own = weighed.emplace_back(
        unit, anchors[head], scores.subspan(head * rows.positions, rows.positions));
    want.lse.push_back(log_weight(anchors[head], own.sum));
    want.lse_range.push_back(log_range(anchors[head], own.sum_range));
    want.steps += static_cast<std::size_t>(std::ranges::count_if(
        own.ranges, [](const auto& range) { return range.low < range.high; }));
    const bool weighs = own.sum > 0;
    want.newest.push_back(weighs ? own.weights.back() / own.sum : 0);
    want.oldest.push_back(weighs ? own.weights.front() / own.sum : 0);
    if (current != nullptr) {
      const double score = (*current)[head];
      want.current.push_back(
          log_weight(anchors[head], weight_reference(unit, anchors[head], score)));
      want.current_range.push_back(
          log_range(anchors[head], weight_range_reference(unit, anchors[head], score)));
    }
  }
  weigh_values(weighed, rows, want);
  return want;
}

Vector ValuesReference::output(const Vector* current_scores) const {
  Vector output = o;
  output.insert(output.end(), lse.begin(), lse.end());
  if (current_scores != nullptr) {
    output.insert(output.end(), current.begin(), current.end());
    output.insert(output.end(), current_scores->begin(), current_scores->end());
  }
  return output;
}

}  // namespace qfs
