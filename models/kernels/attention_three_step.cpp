// The sweep with its scores kept: scores, whatever makes weights of them, values.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/attention_units.hpp"
#include "kernels/parallel.hpp"

namespace qfs {
namespace {

/// Scores to their softmax; returns the log of the summed exponentials. In fp64 the sum loses
/// nothing, however many there are.
float exact_softmax(std::span<float> scores) {
  constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
  // As good as empty; a NaN, which no maximum shows, is none of these.
  if (std::ranges::all_of(scores, [](float score) { return score == minus_infinity; })) {
    std::ranges::fill(scores, 0.0F);
    return minus_infinity;
  }
  const float max = *std::ranges::max_element(scores);
  double sum = 0;
  for (float& score : scores) {
    score = std::exp(score - max);
    sum += double{score};
  }
  const auto scale = static_cast<float>(1 / sum);
  std::ranges::for_each(scores, [scale](float& weight) { weight *= scale; });
  return max + static_cast<float>(std::log(sum));
}

}  // namespace

void attention_scores(std::span<const float> q, const KvRows& rows, std::span<float> scores,
                      const SweepOptions& options) {
  const std::size_t d = rows.head_dim;
  assert(q.size() % d == 0 && scores.size() == q.size() / d * rows.positions);
  const SweepUnits units(rows, q.size() / d, options.queries);
  for_each_unit(units.count(), options.threads, [&](std::size_t unit) {
    const std::size_t head = units.kv_head(unit);
    HeadVectors<float> to = units.vectors(scores.data(), rows.positions, head);
    to.first += units.first_row(unit);
    score_chunk(units.rows(unit), units.vectors(q.data(), d, head), to);
  });
}

void weighted_values(std::span<const float> weights, const KvRows& rows, std::span<float> o,
                     const SweepOptions& options) {
  const std::size_t d = rows.head_dim;
  assert(o.size() % d == 0 && weights.size() == o.size() / d * rows.positions);
  const SweepUnits units(rows, o.size() / d, options.queries);
  const std::size_t vectors = units.vectors();
  std::vector<float> partial(units.count() * vectors * d);
  for_each_unit(units.count(), options.threads, [&](std::size_t unit) {
    HeadVectors<const float> from =
        units.vectors(weights.data(), rows.positions, units.kv_head(unit));
    from.first += units.first_row(unit);
    value_chunk(units.rows(unit), from, &partial[unit * vectors * d]);
  });

  std::ranges::fill(o, 0.0F);
  for (std::size_t unit = 0; unit < units.count(); ++unit) {
    const HeadVectors<float> to = units.vectors(o.data(), d, units.kv_head(unit));
    for (std::size_t i = 0; i < vectors; ++i) {
      for (std::size_t c = 0; c < d; ++c) {
        to.at(i)[c] += partial[(unit * vectors + i) * d + c];
      }
    }
  }
}

void sweep_three_step(std::span<const float> q, const KvRows& rows, std::span<float> scratch,
                      std::span<float> o, std::span<float> lse, const SweepOptions& options) {
  assert(scratch.size() == lse.size() * rows.positions);
  attention_scores(q, rows, scratch, options);
  std::ranges::fill(lse, -std::numeric_limits<float>::infinity());
  if (rows.positions != 0) {
    for_each_unit(lse.size(), options.threads, [&](std::size_t g) {
      lse[g] = exact_softmax(scratch.subspan(g * rows.positions, rows.positions));
    });
  }
  weighted_values(scratch, rows, o, options);
}

}  // namespace qfs
