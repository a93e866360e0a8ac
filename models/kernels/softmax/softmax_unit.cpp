#include "kernels/softmax/softmax_unit.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>

#include "kernels/format.hpp"

namespace qfs {
namespace {

// A row no wider than this is constant to min_max (000 appendix A).
constexpr double degenerate_span = 1e-12;

// Nearest even with `digits` significant bits; below 2^lowest_exponent the spacing stays.
double rounded_to(double value, int digits, int lowest_exponent) {
  const int exponent = value == 0 ? lowest_exponent : std::max(std::ilogb(value), lowest_exponent);
  const double spacing = std::ldexp(1.0, exponent - digits + 1);
  return std::nearbyint(value / spacing) * spacing;
}

template <class Value, class Weigh>
void weigh_all(std::span<const Value> scores, std::span<Value> weights, const Weigh& weigh) {
  for (std::size_t j = 0; j < scores.size(); ++j) {
    // A masked key alone would form -inf - (-inf).
    weights[j] = scores[j] == masked<Value> ? Value{0} : weigh(scores[j]);
  }
}

template <class Value>
void weigh_on_grid(const CalibratedUnit<Value>& unit, std::span<const Value> scores,
                   std::span<Value> weights) {
  if (unit.unit().reconstruction == Reconstruction::lerp) {
    weigh_all(scores, weights,
              [&unit](Value score) { return unit.in_window(score) ? unit.lerp(score) : Value{0}; });
  } else {
    weigh_all(scores, weights, [&unit](Value score) {
      return unit.in_window(score) ? unit.nearest(score) : Value{0};
    });
  }
}

}  // namespace

template <class Value>
Extrema<Value> extrema_of(std::span<const Value> scores) {
  Extrema<Value> extrema;
  for (const Value score : scores) {
    assert(score < std::numeric_limits<Value>::infinity());
    if (score != masked<Value>) {
      extrema = merged(extrema, {score, score});
    }
  }
  return extrema;
}

template <class Value>
CalibratedUnit<Value>::CalibratedUnit(const SoftmaxUnit& unit, const Extrema<Value>& extrema)
    : unit_(unit), intervals_(static_cast<Value>(unit.intervals)) {
  assert(unit.intervals >= 1 && unit.intervals <= std::size_t{1} << 24U);
  assert(unit.tau > 0 && std::isfinite(unit.tau));
  if (unit.kind == SoftmaxKind::min_max || unit.kind == SoftmaxKind::fwm) {
    points_.resize(unit.intervals + 1);
  }
  if (unit.kind == SoftmaxKind::fwm || unit.kind == SoftmaxKind::resolved) {
    lay_grid(static_cast<Value>(-unit.tau));  // for every row the same
  }
  calibrate(extrema);
}

template <class Value>
void CalibratedUnit<Value>::calibrate(const Extrema<Value>& extrema) {
  max_ = extrema.max;
  if (unit_.kind == SoftmaxKind::min_max) {
    const bool is_empty = extrema.max < extrema.min;
    const Value span = is_empty ? Value{0} : extrema.max - extrema.min;
    assert(std::isfinite(span));
    is_constant_ = span <= static_cast<Value>(degenerate_span);
    if (!is_constant_) {
      lay_grid(-span);
    }
  }
}

template <class Value>
void CalibratedUnit<Value>::lay_grid(Value lowest) {
  lowest_ = lowest;
  interval_ = -lowest / intervals_;
  for (std::size_t r = 0; r < points_.size(); ++r) {
    const Value b = place(static_cast<Value>(r));
    points_[r] = {b, std::exp(b)};
  }
}

template <class Value>
Value CalibratedUnit<Value>::place(Value index) const {
  return lowest_ * ((intervals_ - index) / intervals_);
}

template <class Value>
Value CalibratedUnit<Value>::value(Value index) const {
  return points_.empty() ? std::exp(place(index)) : points_[static_cast<std::size_t>(index)].value;
}

template <class Value>
auto CalibratedUnit<Value>::position(Value score) const -> Position {
  assert(has_grid(unit_.kind) && !is_constant_ && score <= max_ && in_window(score));
  const Value z = score - max_;
  const Value top = intervals_ - 1;
  const Value bins = (z - lowest_) / interval_;
  const auto t = [&](Value b) { return std::clamp((z - b) / interval_, Value{0}, Value{1}); };
  if (points_.empty()) {
    const Value index = std::min(std::floor(bins), top);
    return {index, t(place(index))};
  }
  assert(bins >= 0);
  const auto r = static_cast<std::int32_t>(std::min(bins, top));  // K <= 2^24
  return {static_cast<Value>(r), t(points_[static_cast<std::size_t>(r)].place)};
}

template <class Value>
auto CalibratedUnit<Value>::bin(Value score) const -> Bin {
  const auto [index, t] = position(score);
  return {index, t, value(index), value(index + 1)};
}

template <class Value>
Value CalibratedUnit<Value>::lerp(Value score) const {
  const Bin ends = bin(score);
  return (1 - ends.t) * ends.low + ends.t * ends.high;
}

template <class Value>
Value CalibratedUnit<Value>::nearest(Value score) const {
  const auto [index, t] = position(score);
  return value(index + static_cast<Value>(t >= Value{0.5}));
}

template <class Value>
void weights(const CalibratedUnit<Value>& unit, std::span<const std::type_identity_t<Value>> scores,
             std::span<std::type_identity_t<Value>> weights) {
  assert(scores.size() == weights.size());
  const Value max = unit.max();
  switch (unit.unit().kind) {
    case SoftmaxKind::exact:
      return weigh_all(scores, weights, [max](Value score) { return std::exp(score - max); });
    case SoftmaxKind::bf16_exp:
      return weigh_all(scores, weights, [max](Value score) {
        return rounded_bf16(std::exp(rounded_bf16(score - max)));
      });
    case SoftmaxKind::fp8_exp:
      return weigh_all(scores, weights,
                       [max](Value score) { return rounded_e4m3(std::exp(score - max)); });
    case SoftmaxKind::min_max:
    case SoftmaxKind::fwm:
    case SoftmaxKind::resolved:
      break;
  }
  if (unit.is_constant()) {
    return weigh_all(scores, weights, [](Value) { return Value{1}; });
  }
  weigh_on_grid<Value>(unit, scores, weights);
}

template <class Value>
void weights(const SoftmaxUnit& unit, const Extrema<Value>& extrema,
             std::span<const std::type_identity_t<Value>> scores,
             std::span<std::type_identity_t<Value>> weights) {
  qfs::weights(CalibratedUnit<Value>(unit, extrema), scores, weights);
}

template <class Value>
double weight_sum(std::span<const Value> weights) {
  double sum = 0;
  for (const Value weight : weights) {
    sum += double{weight};
  }
  return sum;
}

template <class Value>
void add_weighted_values(std::span<const Value> weights, std::span<const Value> values,
                         std::span<double> o_sum) {
  assert(values.size() == weights.size() * o_sum.size());
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (weights[j] == 0) {
      continue;
    }
    const auto row = values.subspan(j * o_sum.size(), o_sum.size());
    for (std::size_t c = 0; c < row.size(); ++c) {
      o_sum[c] += double{weights[j]} * double{row[c]};
    }
  }
}

template <class Value>
double log_sum(const Extrema<Value>& extrema, double weight_sum) {
  return weight_sum > 0 ? double{extrema.max} + std::log(weight_sum) : masked<double>;
}

template <class Value>
void softmax_row(const SoftmaxUnit& unit, std::span<const Value> scores,
                 std::span<Value> probabilities) {
  weights(unit, extrema_of(scores), scores, probabilities);
  const double sum = weight_sum<Value>(probabilities);
  if (sum > 0) {
    std::ranges::for_each(probabilities,
                          [sum](Value& p) { p = static_cast<Value>(double{p} / sum); });
  }
}

std::size_t exponentials(const SoftmaxUnit& unit, std::size_t keys) {
  switch (unit.kind) {
    case SoftmaxKind::exact:
    case SoftmaxKind::bf16_exp:
    case SoftmaxKind::fp8_exp:
      return keys;
    case SoftmaxKind::min_max:
      return keys == 0 ? 0 : unit.intervals + 1;
    case SoftmaxKind::fwm:
      return 0;
    case SoftmaxKind::resolved:
      break;
  }
  return unit.reconstruction == Reconstruction::lerp ? 2 * keys : keys;
}

template <>
float rounded_bf16(float value) {
  return to_float(to_bf16(value));
}
template <>
double rounded_bf16(double value) {
  return rounded_to(value, 8, -126);
}
template <>
float rounded_e4m3(float value) {
  return to_float(to_e4m3(value));
}
template <>
double rounded_e4m3(double value) {
  constexpr double largest = 448;
  return rounded_to(std::clamp(value, -largest, largest), 4, -6);
}

template Extrema<float> extrema_of(std::span<const float>);
template Extrema<double> extrema_of(std::span<const double>);
template class CalibratedUnit<float>;
template class CalibratedUnit<double>;
template void weights(const CalibratedUnit<float>&, std::span<const float>, std::span<float>);
template void weights(const CalibratedUnit<double>&, std::span<const double>, std::span<double>);
template void weights(const SoftmaxUnit&, const Extrema<float>&, std::span<const float>,
                      std::span<float>);
template void weights(const SoftmaxUnit&, const Extrema<double>&, std::span<const double>,
                      std::span<double>);
template double weight_sum(std::span<const float>);
template double weight_sum(std::span<const double>);
template void add_weighted_values(std::span<const float>, std::span<const float>,
                                  std::span<double>);
template void add_weighted_values(std::span<const double>, std::span<const double>,
                                  std::span<double>);
template double log_sum(const Extrema<float>&, double);
template double log_sum(const Extrema<double>&, double);
template void softmax_row(const SoftmaxUnit&, std::span<const float>, std::span<float>);
template void softmax_row(const SoftmaxUnit&, std::span<const double>, std::span<double>);

}  // namespace qfs
