// The softmax units' forward written anew for tests, over double or Dual, with the stop-gradients
// of the surrogates and of the calibration modes in it (000 section 3). What `loss` gives for Dual
// is the derivative that models/kernels/softmax/softmax_gradient.hpp must find in closed form.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <vector>

#include "kernels/softmax/softmax_gradient.hpp"
#include "tests/kernels/softmax/dual.hpp"

namespace qfs::test {

template <class T>
using Row = std::vector<T>;

template <class T>
bool is_masked(T score) {
  return value_of(score) == masked<double>;
}

template <class T>
T sum_of(const Row<T>& values) {
  return std::accumulate(values.begin(), values.end(), T{0});
}

// The mean of the tied: as a value the extreme itself, as a derivative an even share for each.
template <class T>
T extreme_of(const Row<T>& scores, double sign) {
  double best = masked<double>;
  for (const T& s : scores) {
    best = is_masked(s) ? best : std::max(best, sign * value_of(s));
  }
  Row<T> tied;
  std::ranges::copy_if(scores, std::back_inserter(tied),
                       [&](const T& s) { return sign * value_of(s) == best; });
  return sum_of(tied) / T{static_cast<double>(tied.size())};
}

template <class T>
struct Grid {
  T max, lowest, width;
  double top;  // the last bin
};

template <class T>
Grid<T> grid_of(const SoftmaxUnit& unit, const Row<T>& s, CalibrationGradient mode) {
  const auto intervals = static_cast<double>(unit.intervals);
  using enum CalibrationGradient;
  T max = extreme_of(s, 1);
  T min = extreme_of(s, -1);
  max = mode == detach || mode == min_only ? stop(max) : max;
  min = mode == detach || mode == max_only ? stop(min) : min;
  const T lowest = unit.kind == SoftmaxKind::min_max ? min - max : T{-unit.tau};
  return {max, lowest, T{0} - lowest / T{intervals}, intervals - 1};
}

// The bin that a key falls in is a constant of the derivative, and so is the tail.
template <class T>
T grid_weight(const SoftmaxUnit& unit, const Grid<T>& grid, T score, bool is_hard) {
  const T z = score - grid.max;
  if (unit.kind == SoftmaxKind::fwm && value_of(z) < -unit.tau) {
    return T{0};
  }
  const double place = (value_of(z) - value_of(grid.lowest)) / value_of(grid.width);
  const double r = std::min(std::floor(place), grid.top);
  const T low = grid.lowest + T{r} * grid.width;
  const T high = grid.lowest + T{r + 1} * grid.width;
  const T t = (z - low) / grid.width;
  if (is_hard) {
    return exp(value_of(t) >= 0.5 ? high : low);
  }
  return (T{1} - t) * exp(low) + t * exp(high);
}

template <class T>
Row<T> weigh(const SoftmaxUnit& unit, const Row<T>& s, CalibrationGradient mode, bool is_hard) {
  const Grid<T> grid = grid_of(unit, s, mode);
  Row<T> w;
  for (const T& score : s) {
    if (is_masked(score)) {
      w.push_back(T{0});
    } else if (has_grid(unit.kind)) {
      w.push_back(grid_weight(unit, grid, score, is_hard));
    } else {
      const T e = exp(score - grid.max);
      w.push_back(unit.kind == SoftmaxKind::fp8_exp ? T{rounded_e4m3(value_of(e))} + (e - stop(e))
                                                    : e);
    }
  }
  return w;
}

template <class T>
Row<T> normalised(Row<T> w) {
  const T sum = sum_of(w);
  std::ranges::for_each(w, [&](T& weight) { weight = weight / sum; });
  return w;
}

// a forward, b backward.
template <class T>
Row<T> straight_through(const Row<T>& a, Row<T> b) {
  for (std::size_t j = 0; j < b.size(); ++j) {
    b[j] = b[j] + stop(a[j] - b[j]);
  }
  return b;
}

template <class T>
T loss(const SoftmaxUnit& unit, const GradientRule& rule, const Row<T>& s, const Row<double>& g) {
  const Row<T> soft = weigh(unit, s, rule.calibration, false);
  const Row<T> hard =
      weigh(unit, s, rule.calibration, unit.reconstruction == Reconstruction::nearest);
  Row<T> p = normalised(hard);
  if (rule.surrogate == Surrogate::weight_ste) {
    p = normalised(straight_through(hard, soft));
  } else if (rule.surrogate == Surrogate::prob_ste) {
    p = straight_through(p, normalised(soft));
  }
  T sum{0};
  for (std::size_t j = 0; j < s.size(); ++j) {
    sum = sum + T{g[j]} * p[j];
  }
  return sum;
}

inline Row<double> dual_gradient(const SoftmaxUnit& unit, const GradientRule& rule,
                                 const Row<double>& s, const Row<double>& g) {
  Row<Dual> inputs;
  std::ranges::transform(s, std::back_inserter(inputs), [](double x) { return Dual{x}; });
  Row<double> gradient(s.size());
  for (std::size_t i = 0; i < s.size(); ++i) {
    inputs[i].dot = is_masked(s[i]) ? 0 : 1;
    gradient[i] = loss(unit, rule, inputs, g).dot;
    inputs[i].dot = 0;
  }
  return gradient;
}

}  // namespace qfs::test
