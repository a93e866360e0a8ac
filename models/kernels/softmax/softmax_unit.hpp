// Softmax units with a cheap exponential (000 section 3, appendices A, D.4 and D.5): each turns one
// row of scores s into weights w >= 0, and P = w / sum w. M and m are the row's maximum and
// minimum, z = s - M <= 0; K = intervals; a grid unit knows e^b only at its grid points b_r.
//
//   unit      w of a key                                          grid points
//   exact     e^z                                                 -
//   min_max   rebuilt from the two grid points beside it          K+1, from m-M to 0, h = (M-m)/K
//   fwm       the same; 0 where z < -tau                          K+1, from -tau to 0, h = tau/K
//   resolved  the same; nothing is cut off                        fwm's, on below without end
//   bf16_exp  bf16(e^{bf16(z)})                                   -
//   fp8_exp   e4m3(e^z): 56 nonzero values, 0 from 2^-10 down     -
//
// With r the grid point at or below z and t = (z - b_r)/h, clipped to [0, 1]: `lerp` gives
// (1-t) e^{b_r} + t e^{b_{r+1}}, `nearest` e^{b_{r + [t >= 1/2]}}.
//
// Conventions at the edges:
//   b_r         span * (r-K)/K: exactly -span at r = 0, exactly 0 at r = K
//   bin edge    belongs to the bin above it; z = 0 to the topmost, at t = 1
//   midpoint    t = 1/2 goes up
//   z = -tau    is inside fwm's window and weighs e^-tau
//   M-m <= 1e-12 in min_max: every key weighs 1, one key alone too (000 sets h = 1 there)
//   masked      a score of -inf: weight 0, and left out of m
//   all masked  (or no key): M = -inf, m = +inf, all weights and probabilities 0, W = 0, lse = -inf
//
// Two phases, because a row may be split over devices and the grid hangs on the whole row: the
// extrema of each shard, merged by max and min; then, given the common extrema, the shard's weights
// and the sums W = sum w and sum w v, which simply add, or equally (o, lse = M + ln W). Sums run
// over ascending keys in one double, whatever Value is. One shard in two phases equals softmax_row
// bit for bit. Value is float or double: all but those sums is computed in it.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "base/enum_names.hpp"

namespace qfs {

enum class SoftmaxKind { exact, min_max, fwm, resolved, bf16_exp, fp8_exp };

template <>
inline constexpr EnumNames<SoftmaxKind, 6> enum_names<SoftmaxKind>{{
    {SoftmaxKind::exact, "exact"},
    {SoftmaxKind::min_max, "min_max"},
    {SoftmaxKind::fwm, "fwm"},
    {SoftmaxKind::resolved, "resolved"},
    {SoftmaxKind::bf16_exp, "bf16_exp"},
    {SoftmaxKind::fp8_exp, "fp8_exp"},
}};

enum class Reconstruction { lerp, nearest };

template <>
inline constexpr EnumNames<Reconstruction, 2> enum_names<Reconstruction>{{
    {Reconstruction::lerp, "lerp"},
    {Reconstruction::nearest, "nearest"},
}};

/// Needs 1 <= intervals <= 2^24 (exact in fp32) and tau > 0; tau and tau / intervals normal numbers
/// of the type computed in.
struct SoftmaxUnit {
  SoftmaxKind kind = SoftmaxKind::exact;
  Reconstruction reconstruction = Reconstruction::lerp;  // of the grid units alone
  std::size_t intervals = 4;                             // K, of the grid units
  double tau = 6;                                        // nats, of fwm and resolved
  bool operator==(const SoftmaxUnit&) const = default;
};

constexpr bool has_grid(SoftmaxKind kind) {
  return kind == SoftmaxKind::min_max || kind == SoftmaxKind::fwm || kind == SoftmaxKind::resolved;
}

/// A score that is masked out.
template <class Value>
inline constexpr Value masked = -std::numeric_limits<Value>::infinity();

/// What the first phase knows of a shard; as built, of an empty one.
template <class Value>
struct Extrema {
  Value max = masked<Value>;
  Value min = std::numeric_limits<Value>::infinity();
  bool operator==(const Extrema&) const = default;
};

/// Needs scores below +infinity and no NaN.
template <class Value>
Extrema<Value> extrema_of(std::span<const Value> scores);

template <class Value>
constexpr Extrema<Value> merged(const Extrema<Value>& a, const Extrema<Value>& b) {
  return {a.max < b.max ? b.max : a.max, b.min < a.min ? b.min : a.min};
}

/// A unit with its grid laid for one row. min_max and fwm keep their K+1 points b_r and e^{b_r}, so
/// that a key costs no exponential; resolved has no end, and pays two for lerp and one for nearest.
template <class Value>
class CalibratedUnit {
 public:
  /// Where a key falls: bin r (a whole number, below 0 in resolved's tail), t, and e^b at its ends.
  struct Bin {
    Value index, t, low, high;
  };

  /// Needs max - min finite in Value. Only min_max reads min.
  CalibratedUnit(const SoftmaxUnit& unit, const Extrema<Value>& extrema);
  /// The grid of another row, without an allocation.
  void calibrate(const Extrema<Value>& extrema);

  [[nodiscard]] const SoftmaxUnit& unit() const { return unit_; }
  [[nodiscard]] Value max() const { return max_; }
  /// h, of a grid unit.
  [[nodiscard]] Value interval() const { return interval_; }
  /// min_max on a row of one value: it has no bins and every weight is 1.
  [[nodiscard]] bool is_constant() const { return is_constant_; }
  /// False in fwm's tail, where the weight is 0.
  [[nodiscard]] bool in_window(Value score) const {
    return unit_.kind != SoftmaxKind::fwm || score - max_ >= lowest_;
  }
  /// Of one key. Each needs a grid unit that is not constant and an unmasked score, in the window
  /// and within the extrema.
  [[nodiscard]] Bin bin(Value score) const;
  [[nodiscard]] Value lerp(Value score) const;
  [[nodiscard]] Value nearest(Value score) const;

 private:
  struct Point {
    Value place, value;  // b_r, e^{b_r}
  };
  struct Position {
    Value index, t;
  };
  void lay_grid(Value lowest);
  [[nodiscard]] Value place(Value index) const;
  [[nodiscard]] Value value(Value index) const;
  [[nodiscard]] Position position(Value score) const;

  SoftmaxUnit unit_;
  Value intervals_;
  Value max_ = masked<Value>;
  Value lowest_ = 0;  // b_0
  Value interval_ = 1;
  bool is_constant_ = false;
  std::vector<Point> points_;  // none for resolved
};

/// Second phase: the weight of each key. weights.size() == scores.size(). The extrema cover at
/// least these scores; `exact`, `bf16_exp` and `fp8_exp` alone accept a score above max, whose
/// weight exceeds 1 (fp8_exp's ends at 448, its largest).
template <class Value>
void weights(const CalibratedUnit<Value>& unit, std::span<const std::type_identity_t<Value>> scores,
             std::span<std::type_identity_t<Value>> weights);
template <class Value>
void weights(const SoftmaxUnit& unit, const Extrema<Value>& extrema,
             std::span<const std::type_identity_t<Value>> scores,
             std::span<std::type_identity_t<Value>> weights);

/// W. Shards' sums add.
template <class Value>
double weight_sum(std::span<const Value> weights);
/// o_sum += sum w_j v_j, with row j of `values` at j * o_sum.size(). The row of a key that weighs
/// nothing is not read. Needs values.size() == weights.size() * o_sum.size().
template <class Value>
void add_weighted_values(std::span<const Value> weights, std::span<const Value> values,
                         std::span<double> o_sum);
/// lse = M + ln W; -infinity where nothing weighs anything.
template <class Value>
double log_sum(const Extrema<Value>& extrema, double weight_sum);

/// Both phases on a whole row: P = w / W. probabilities.size() == scores.size().
template <class Value>
void softmax_row(const SoftmaxUnit& unit, std::span<const Value> scores,
                 std::span<Value> probabilities);

/// The nearest bf16, the nearest E4M3 (within +-448: larger ones saturate), ties to even. A double
/// is rounded once, not by way of fp32. Needs a finite value.
template <class Value>
Value rounded_bf16(Value value);
template <class Value>
Value rounded_e4m3(Value value);

/// The weight of one key as the formulas are written, in fp64: no table, b_r = -span + r h, E4M3 by
/// search. Needs an unmasked score within the extrema.
double weight_reference(const SoftmaxUnit& unit, const Extrema<double>& extrema, double score);
void softmax_row_reference(const SoftmaxUnit& unit, std::span<const double> scores,
                           std::span<double> probabilities);

/// Evaluations of e^x that the unit makes for one row of so many unmasked keys: one a key; min_max
/// K+1 a row, however long; fwm none (its grid is every row's); resolved two a key, and one with
/// `nearest`.
std::size_t exponentials(const SoftmaxUnit& unit, std::size_t keys);

/// The weights that fp32 may give one key of these very scores. A unit with steps (`nearest`,
/// bf16_exp, fp8_exp, the end of fwm's window) may land on either side of one that lies within
/// rounding: low < high there, the weights beside the step. Else both are weight_reference: what is
/// left is rounding of the ordinary kind. Preconditions as there.
struct WeightRange {
  double low = 0;
  double high = 0;
};
WeightRange weight_range_reference(const SoftmaxUnit& unit, const Extrema<double>& extrema,
                                   double score);

}  // namespace qfs
