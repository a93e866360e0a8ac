#include "kernels/softmax/softmax_gradient.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace qfs {
namespace {

// Of one key's weight.
template <class Value>
struct Partials {
  Value own = 0;     // by z, the grid held: D
  Value by_max = 0;  // through M, z's own M included
  Value by_min = 0;
};

template <class Value>
Partials<Value> exponential_partials(Value z) {
  const Value weight = std::exp(z);
  return {weight, -weight, 0};
}

template <class Value>
Partials<Value> lerp_partials(const CalibratedUnit<Value>& unit, Value score) {
  if (unit.is_constant()) {
    return {1, -1, 0};
  }
  if (!unit.in_window(score)) {
    return {};
  }
  const auto [r, t, low, high] = unit.bin(score);
  const Value slope = (high - low) / unit.interval();
  if (unit.unit().kind != SoftmaxKind::min_max) {
    return {slope, -slope, 0};
  }
  const auto intervals = static_cast<Value>(unit.unit().intervals);
  const Value weight = unit.lerp(score);
  const Value rho = (r + t) / intervals;
  const Value drift = ((1 - t) * r * low + t * (r + 1) * high) / intervals;  // X
  return {slope, -weight - slope * rho + drift, -slope * (1 - rho) + weight - drift};
}

template <class Value>
Partials<Value> nearest_partials(const CalibratedUnit<Value>& unit, Value score) {
  if (unit.unit().kind != SoftmaxKind::min_max || unit.is_constant()) {
    return {};
  }
  const auto [r, t, low, high] = unit.bin(score);
  const auto intervals = static_cast<Value>(unit.unit().intervals);
  const Value level = t >= Value{0.5} ? r + 1 : r;
  const Value slope = (intervals - level) / intervals * unit.nearest(score);
  return {0, -slope, slope};
}

template <class Value>
Partials<Value> partials(const CalibratedUnit<Value>& unit, Surrogate surrogate, Value score) {
  if (!has_grid(unit.unit().kind)) {
    return exponential_partials(score - unit.max());
  }
  const bool is_hard =
      surrogate == Surrogate::none && unit.unit().reconstruction == Reconstruction::nearest;
  return is_hard ? nearest_partials(unit, score) : lerp_partials(unit, score);
}

// The normalisation P = w/W: its derivative gamma by each weight.
template <class Value>
struct Normalisation {
  double sum = 0;   // W
  double mean = 0;  // sum P g

  Normalisation(std::span<const Value> weights, std::span<const Value> upstream)
      : sum(weight_sum(weights)) {
    for (std::size_t j = 0; j < weights.size(); ++j) {
      if (weights[j] != 0) {  // g of a masked key is not read
        mean += double{weights[j]} * double{upstream[j]};
      }
    }
    mean /= sum;
  }

  [[nodiscard]] Value gamma(Value upstream) const {
    return static_cast<Value>((double{upstream} - mean) / sum);
  }
};

// What the row's extrema receive.
struct Pull {
  double max = 0;
  double min = 0;
};

template <class Value>
void share(std::span<const Value> scores, Value extreme, double pull, std::span<Value> gradient) {
  const auto ties = static_cast<double>(std::ranges::count(scores, extreme));
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (scores[j] == extreme) {
      gradient[j] += static_cast<Value>(pull / ties);
    }
  }
}

// gradient: the weights at which the row is normalised on entry, gamma D on return.
template <class Value>
Pull own_terms(const CalibratedUnit<Value>& unit, Surrogate surrogate,
               std::span<const Value> scores, std::span<const Value> upstream,
               std::span<Value> gradient) {
  const Normalisation<Value> normalisation(gradient, upstream);
  Pull pull;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (scores[j] == masked<Value>) {
      continue;  // its weight, 0, is its gradient
    }
    const Value gamma = normalisation.gamma(upstream[j]);
    if (unit.unit().kind == SoftmaxKind::bf16_exp) {
      gradient[j] = rounded_bf16(rounded_bf16(gamma) * gradient[j]);
      pull.max -= double{gradient[j]};
      continue;
    }
    const Partials<Value> weight = partials(unit, surrogate, scores[j]);
    gradient[j] = gamma * weight.own;
    pull.max += double{gamma * weight.by_max};
    pull.min += double{gamma * weight.by_min};
  }
  return pull;
}

}  // namespace

template <class Value>
void softmax_gradient(const SoftmaxUnit& unit, const GradientRule& rule,
                      std::span<const Value> scores, std::span<const Value> upstream,
                      std::span<Value> gradient) {
  assert(scores.size() == upstream.size() && scores.size() == gradient.size());
  assert(rule.surrogate == Surrogate::none ||
         (has_grid(unit.kind) && unit.reconstruction == Reconstruction::nearest));
  const Extrema<Value> extrema = extrema_of(scores);
  if (extrema.max == masked<Value>) {
    std::ranges::fill(gradient, Value{0});
    return;
  }
  SoftmaxUnit normalised = unit;
  if (rule.surrogate == Surrogate::prob_ste) {
    normalised.reconstruction = Reconstruction::lerp;
  }
  const CalibratedUnit<Value> calibrated(normalised, extrema);
  weights(calibrated, scores, gradient);
  const Pull pull = own_terms(calibrated, rule.surrogate, scores, upstream, gradient);
  const CalibrationGradient kept = rule.calibration;
  if (kept == CalibrationGradient::full || kept == CalibrationGradient::max_only) {
    share(scores, extrema.max, pull.max, gradient);
  }
  if (kept == CalibrationGradient::full || kept == CalibrationGradient::min_only) {
    share(scores, extrema.min, pull.min, gradient);
  }
}

template <class Value>
void project_zero_sum(std::span<const Value> scores, std::span<Value> gradient) {
  assert(scores.size() == gradient.size());
  double sum = 0;
  double keys = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (scores[j] != masked<Value>) {
      sum += double{gradient[j]};
      ++keys;
    }
  }
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (scores[j] != masked<Value>) {
      gradient[j] -= static_cast<Value>(sum / keys);
    }
  }
}

template <class Value>
void hard_slopes(const SoftmaxUnit& unit, std::span<const Value> scores, std::span<Value> slopes) {
  assert(has_grid(unit.kind) && scores.size() == slopes.size());
  const CalibratedUnit<Value> calibrated(unit, extrema_of(scores));
  for (std::size_t j = 0; j < scores.size(); ++j) {
    slopes[j] =
        scores[j] == masked<Value> ? Value{0} : nearest_partials(calibrated, scores[j]).by_min;
  }
}

template void softmax_gradient(const SoftmaxUnit&, const GradientRule&, std::span<const float>,
                               std::span<const float>, std::span<float>);
template void softmax_gradient(const SoftmaxUnit&, const GradientRule&, std::span<const double>,
                               std::span<const double>, std::span<double>);
template void project_zero_sum(std::span<const float>, std::span<float>);
template void project_zero_sum(std::span<const double>, std::span<double>);
template void hard_slopes(const SoftmaxUnit&, std::span<const float>, std::span<float>);
template void hard_slopes(const SoftmaxUnit&, std::span<const double>, std::span<double>);

}  // namespace qfs
