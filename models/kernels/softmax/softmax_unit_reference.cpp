// The softmax units as a textbook writes them: one key, one formula, fp64.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/softmax/softmax_unit.hpp"

namespace qfs {
namespace {

// Code c of E4M3 from 0 to 1: (c mod 8) 2^-9 below 2^-6, then (8 + c mod 8) 2^(c/8 - 10).
double e4m3(int code) {
  return code < 8 ? std::ldexp(code, -9) : std::ldexp(8 + code % 8, code / 8 - 10);
}

double nearest_e4m3(double weight) {
  constexpr int code_of_one = 56;
  int best = 0;
  for (int code = 1; code <= code_of_one; ++code) {
    const double gain = std::abs(e4m3(best) - weight) - std::abs(e4m3(code) - weight);
    if (gain > 0 || (gain == 0 && code % 2 == 0)) {
      best = code;
    }
  }
  return e4m3(best);
}

// Seven bits behind the leading one, none below 2^-133.
double nearest_bf16(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int last_bit = std::max(exponent - 8, -133);
  return std::ldexp(std::nearbyint(std::ldexp(value, -last_bit)), last_bit);
}

double on_grid(const SoftmaxUnit& unit, double z, double lowest, bool has_end) {
  const auto intervals = static_cast<double>(unit.intervals);
  const double h = -lowest / intervals;
  double r = std::min(std::floor((z - lowest) / h), intervals - 1);
  if (has_end) {
    r = std::max(r, 0.0);
  }
  const auto b = [&](double index) { return lowest + index * h; };
  const double t = std::clamp((z - b(r)) / h, 0.0, 1.0);
  if (unit.reconstruction == Reconstruction::lerp) {
    return (1 - t) * std::exp(b(r)) + t * std::exp(b(r + 1));
  }
  return std::exp(b(t >= 0.5 ? r + 1 : r));
}

// How far fp32 may be off in its idea of where a score lies, in nats: z and its place on the grid
// are a handful of roundings, each at most 2^-24 of |z| or of the grid's length; the exponential's
// own, relative, weighs like a shift by as much.
double slack(const SoftmaxUnit& unit, const Extrema<double>& extrema, double score) {
  const double grid = unit.kind == SoftmaxKind::min_max ? extrema.max - extrema.min : unit.tau;
  const double length = has_grid(unit.kind) ? grid : 0;
  return std::ldexp(1 + std::abs(score - extrema.max) + length, -21);
}

// Of two equals, rounded once more.
WeightRange rounded_apart(double weight) {
  const double unit = std::ldexp(1.0, -22);
  return {nearest_bf16(weight * (1 - unit)), nearest_bf16(weight * (1 + unit))};
}

}  // namespace

double weight_reference(const SoftmaxUnit& unit, const Extrema<double>& extrema, double score) {
  assert(score <= extrema.max && score >= extrema.min);
  const double z = score - extrema.max;
  switch (unit.kind) {
    case SoftmaxKind::exact:
      break;
    case SoftmaxKind::min_max:
      return extrema.max - extrema.min <= 1e-12 ? 1
                                                : on_grid(unit, z, extrema.min - extrema.max, true);
    case SoftmaxKind::fwm:
      return z < -unit.tau ? 0 : on_grid(unit, z, -unit.tau, true);
    case SoftmaxKind::resolved:
      return on_grid(unit, z, -unit.tau, false);
    case SoftmaxKind::bf16_exp:
      return nearest_bf16(std::exp(nearest_bf16(z)));
    case SoftmaxKind::fp8_exp:
      return nearest_e4m3(std::exp(z));
  }
  return std::exp(z);
}

void softmax_row_reference(const SoftmaxUnit& unit, std::span<const double> scores,
                           std::span<double> probabilities) {
  assert(scores.size() == probabilities.size());
  const Extrema<double> extrema = extrema_of(scores);
  double sum = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const bool is_masked = scores[j] == masked<double>;
    probabilities[j] = is_masked ? 0 : weight_reference(unit, extrema, scores[j]);
    sum += probabilities[j];
  }
  for (double& probability : probabilities) {
    probability = sum > 0 ? probability / sum : 0;
  }
}

WeightRange weight_range_reference(const SoftmaxUnit& unit, const Extrema<double>& extrema,
                                   double score) {
  const double by = slack(unit, extrema, score);
  const double below = std::max(score - by, extrema.min);
  const double above = std::min(score + by, extrema.max);
  const bool is_smooth = unit.kind == SoftmaxKind::exact ||
                         (has_grid(unit.kind) && unit.reconstruction == Reconstruction::lerp);
  const auto cut = [&](double at) {
    return unit.kind == SoftmaxKind::fwm && at - extrema.max < -unit.tau;
  };
  if (is_smooth && cut(below) == cut(above)) {
    const double weight = weight_reference(unit, extrema, score);
    return {weight, weight};
  }
  if (unit.kind == SoftmaxKind::bf16_exp) {
    return {rounded_apart(std::exp(nearest_bf16(below - extrema.max))).low,
            rounded_apart(std::exp(nearest_bf16(above - extrema.max))).high};
  }
  return {weight_reference(unit, extrema, below), weight_reference(unit, extrema, above)};
}

}  // namespace qfs
