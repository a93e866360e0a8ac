// The backward rules of the softmax units in closed form (000 section 3, appendices B and D.5): for
// one row, dL/ds from g = dL/dP taken at the forward's probabilities. With w the weights that the
// rule differentiates, W = sum w and P = w/W at the point where it normalises, and
// gamma_j = (g_j - sum P g) / W:
//
//   dL/ds_i = gamma_i D_i + [i = arg max] sum gamma dw/dM + [i = arg min] sum gamma dw/dm
//
//   weights            D (grid held)              dw/dM              dw/dm
//   exact, fp8_exp     e^z                        -D                 0
//   lerp, min_max      (e^{b_{r+1}} - e^{b_r})/h  -w - D rho + X     -D (1 - rho) + w - X
//   lerp, fwm          the same; tail 0           -D                 0
//   lerp, resolved     the same                   -D                 0
//   nearest, min_max   0                          -(1 - l/K) w       (1 - l/K) w
//   nearest, fwm and resolved: 0, since neither level nor grid moves with the scores
//
// with rho = (r+t)/K, X = ((1-t) r e^{b_r} + t (r+1) e^{b_{r+1}})/K and l the level of nearest.
//
//   surrogate   differentiates             gamma at
//   none        the unit's own forward     the unit's own forward
//   weight_ste  lerp                       nearest, the hard forward
//   prob_ste    lerp                       lerp
//
// bf16_exp is the gradient of the casts, as autograd takes it: dL/dz = bf16(bf16(gamma) w), and M
// gets minus their sum. fp8_exp passes its rounding straight through: gamma at the rounded weights.
//
// Conventions:
//   ties        of the maximum or minimum share its term evenly
//   bin edge    the slope of the bin above, for z = 0 of the topmost; z = -tau is inside the window
//   M-m <= 1e-12 in min_max: lerp has D = 1, dw/dM = -1, dw/dm = 0, so that dL/ds is the exact
//               softmax's (g - mean g)/n. That is the limit of the row above as M-m goes to 0, so a
//               row gains or loses no gradient as it becomes constant; the literal h = 1 of 000
//               would leave a factor of e-1 or of 0 there, as one reads it. nearest has 0.
//   masked      gradient 0; its g is not read. All masked: all 0.
#pragma once

#include <span>

#include "base/enum_names.hpp"
#include "kernels/softmax/softmax_unit.hpp"

namespace qfs {

enum class Surrogate { none, weight_ste, prob_ste };

template <>
inline constexpr EnumNames<Surrogate, 3> enum_names<Surrogate>{{
    {Surrogate::none, "none"},
    {Surrogate::weight_ste, "weight_ste"},
    {Surrogate::prob_ste, "prob_ste"},
}};

/// Which of the two calibration terms are kept. `full` gives a row gradient that sums to zero, as
/// the softmax's does; without a dw/dm term `max_only` is `full`.
enum class CalibrationGradient { full, detach, max_only, min_only };

template <>
inline constexpr EnumNames<CalibrationGradient, 4> enum_names<CalibrationGradient>{{
    {CalibrationGradient::full, "full"},
    {CalibrationGradient::detach, "detach"},
    {CalibrationGradient::max_only, "max_only"},
    {CalibrationGradient::min_only, "min_only"},
}};

/// Needs surrogate == none unless the unit has a grid and reconstructs by `nearest`.
struct GradientRule {
  Surrogate surrogate = Surrogate::none;
  CalibrationGradient calibration = CalibrationGradient::full;
  bool operator==(const GradientRule&) const = default;
};

/// gradient <- dL/ds of one row. The three spans are equally long and do not overlap; upstream is
/// finite where the score is not masked. Sums over the row run over ascending keys in double.
template <class Value>
void softmax_gradient(const SoftmaxUnit& unit, const GradientRule& rule,
                      std::span<const Value> scores, std::span<const Value> upstream,
                      std::span<Value> gradient);

/// Takes the mean over the unmasked keys from each of them, so that they sum to zero: 000's repair
/// of `detach`, which removes the common part only.
template <class Value>
void project_zero_sum(std::span<const Value> scores, std::span<Value> gradient);

/// dw_j/dm = -dw_j/dM of the hard map (nearest; levels held): c_j w_j with c_j = 1 - l_j/K under
/// min_max, 0 under fwm and resolved. So dw_j/ds_i = slopes_j ([i = arg min] - [i = arg max]).
/// Needs a grid unit, whatever its reconstruction.
template <class Value>
void hard_slopes(const SoftmaxUnit& unit, std::span<const Value> scores, std::span<Value> slopes);

}  // namespace qfs
