// The backward rules against an independent derivative, by dual numbers, and against central
// differences of the forward itself.
#include "kernels/softmax/softmax_gradient.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "tests/kernels/draw.hpp"
#include "tests/kernels/softmax/softmax_forward.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

using enum SoftmaxKind;
using enum Reconstruction;
using enum Surrogate;
using enum CalibrationGradient;

constexpr double dual_tolerance = 1e-12;       // absolute
constexpr double difference_tolerance = 1e-8;  // absolute
constexpr std::size_t random_rows = 200;

constexpr std::array all_modes{full, detach, max_only, min_only};

struct Sample {
  std::size_t intervals;
  Row<double> scores;
  Row<double> upstream;
};

// 2 to 40 keys at three widths; every fourth row is masked here and there; every fifth has ties,
// those of its extrema among them.
Sample sample(std::uint64_t seed) {
  const Random random(seed, 4);
  const std::size_t keys = 2 + random.below(0, 39);
  const std::array<double, 3> widths{0.5, 2, 6};
  const std::array<std::size_t, 4> intervals{1, 2, 4, 16};
  Sample row{intervals[seed % 4], draw(keys, seed, 1, widths[seed % 3]), draw(keys, seed, 2)};
  for (std::size_t j = 2; seed % 4 == 3 && j < keys; j += 5) {
    row.scores[j] = masked<double>;
    row.upstream[j] = std::numeric_limits<double>::quiet_NaN();
  }
  if (seed % 5 == 4) {
    const Extrema<double> ends = extrema_of<double>(row.scores);
    const Row<double> tied{ends.max, ends.min, ends.max, row.scores[0]};
    row.scores.insert(row.scores.end(), tied.begin(), tied.end());
    const Row<double> more = draw(tied.size(), seed, 3);
    row.upstream.insert(row.upstream.end(), more.begin(), more.end());
  }
  return row;
}

// A dual number's 0 * NaN would not stay 0.
Row<double> without_nan(Row<double> g) {
  std::ranges::replace_if(
      g, [](double x) { return std::isnan(x); }, 0);
  return g;
}

Row<double> gradient_of(const SoftmaxUnit& unit, const GradientRule& rule, const Row<double>& s,
                        const Row<double>& g) {
  Row<double> gradient(s.size(), -1);
  softmax_gradient<double>(unit, rule, s, g, gradient);
  return gradient;
}

struct Rule {
  SoftmaxUnit unit;
  Surrogate surrogate;
};

const std::vector<Rule> all_rules{
    {{exact}, none},
    {{fp8_exp}, none},
    {{min_max, lerp}, none},
    {{min_max, nearest}, none},
    {{min_max, nearest}, weight_ste},
    {{min_max, nearest}, prob_ste},
    {{fwm, lerp}, none},
    {{fwm, nearest}, none},
    {{fwm, nearest}, weight_ste},
    {{fwm, nearest}, prob_ste},
    {{resolved, lerp}, none},
    {{resolved, nearest}, none},
    {{resolved, nearest}, weight_ste},
    {{resolved, nearest}, prob_ste},
};

std::string name(const Rule& rule) {
  return std::string(name_of(rule.unit.kind)) + ' ' +
         std::string(name_of(rule.unit.reconstruction)) + ' ' +
         std::string(name_of(rule.surrogate));
}

// Or near a switch of its extrema, which sit on edges themselves.
bool is_near_an_edge(const SoftmaxUnit& unit, const Row<double>& s) {
  constexpr double margin = 1e-3;
  const Extrema<double> ends = extrema_of<double>(s);
  const double span = unit.kind == min_max ? ends.max - ends.min : unit.tau;
  const double h = span / static_cast<double>(unit.intervals);
  for (const double score : s) {
    const bool is_extreme = score == ends.max || (unit.kind == min_max && score == ends.min);
    const double place = (score - ends.max + span) / h;
    if (!is_extreme && std::abs(place - std::round(place)) * h < margin) {
      return true;
    }
  }
  return std::ranges::count(s, ends.max) > 1 ||
         (unit.kind == min_max && std::ranges::count(s, ends.min) > 1);
}

Row<double> central_differences(const SoftmaxUnit& unit, Row<double> s, const Row<double>& g) {
  constexpr double step = 1e-5;
  const auto value = [&] {
    Row<double> p(s.size());
    softmax_row<double>(unit, s, p);
    return std::inner_product(p.begin(), p.end(), g.begin(), 0.0);
  };
  Row<double> gradient;
  for (double& score : s) {
    const double here = score;
    score = here + step;
    const double above = value();
    score = here - step;
    const double below = value();
    score = here;
    gradient.push_back(is_masked(here) ? 0 : (above - below) / (2 * step));
  }
  return gradient;
}

}  // namespace

TEST_CASE("dual numbers differentiate") {
  const Dual x{3, 1};
  CHECK((x * x + Dual{2} * x - Dual{1} / x).dot == Approx(8 + 1.0 / 9).epsilon(1e-15));
  CHECK(exp(Dual{2} * x).dot == Approx(2 * std::exp(6.0)).epsilon(1e-15));
  CHECK((x * stop(x)).dot == 3);
  CHECK((x / x).dot == 0);
}

TEST_CASE("every rule in every mode is the derivative by dual numbers") {
  for (Rule rule : all_rules) {
    for (const CalibrationGradient mode : all_modes) {
      double worst = 0;
      double largest = 0;
      for (std::uint64_t seed = 0; seed < random_rows; ++seed) {
        const Sample row = sample(seed);
        rule.unit.intervals = row.intervals;
        const GradientRule how{rule.surrogate, mode};
        const Row<double> gradient = gradient_of(rule.unit, how, row.scores, row.upstream);
        const Row<double> truth =
            dual_gradient(rule.unit, how, row.scores, without_nan(row.upstream));
        worst = std::max(worst, max_difference(gradient, truth));
        largest = std::max(largest, max_difference(gradient, Row<double>(gradient.size())));
      }
      CAPTURE(name(rule), name_of(mode), worst, largest);
      CHECK(worst <= dual_tolerance);
      // Only the hard maps have nothing to hand on: all of them but min_max's through its extrema.
      const bool is_hard = rule.surrogate == none && rule.unit.reconstruction == nearest;
      CHECK((largest == 0) == (is_hard && (rule.unit.kind != min_max || mode == detach)));
    }
  }
}

TEST_CASE("the full gradient of lerp is the slope of the forward") {
  for (SoftmaxUnit unit :
       {SoftmaxUnit{exact}, SoftmaxUnit{min_max}, SoftmaxUnit{fwm}, SoftmaxUnit{resolved}}) {
    double worst = 0;
    std::size_t left_out = 0;
    for (std::uint64_t seed = 0; seed < random_rows; ++seed) {
      const Sample row = sample(seed);
      unit.intervals = row.intervals;
      if (is_near_an_edge(unit, row.scores)) {
        ++left_out;
        continue;
      }
      const Row<double> g = without_nan(row.upstream);
      worst = std::max(worst, max_difference(gradient_of(unit, {}, row.scores, row.upstream),
                                             central_differences(unit, row.scores, g)));
    }
    CAPTURE(name_of(unit.kind), worst, left_out);
    CHECK(worst <= difference_tolerance);
    CHECK(left_out >= random_rows / 5);  // the rows with ties
    CHECK(left_out <= random_rows * 2 / 5);
  }
}

TEST_CASE("the gradient of the hard map is the slope of its forward") {
  // Between two keys' switches of level the hard map is smooth, and under fwm constant.
  for (SoftmaxUnit unit :
       {SoftmaxUnit{min_max, nearest}, SoftmaxUnit{fwm, nearest}, SoftmaxUnit{resolved, nearest}}) {
    double worst = 0;
    std::size_t compared = 0;
    for (std::uint64_t seed = 0; seed < random_rows; ++seed) {
      const Sample row = sample(seed);
      unit.intervals = row.intervals;
      SoftmaxUnit halves = unit;  // its edges are this one's edges and midpoints
      halves.intervals *= 2;
      if (is_near_an_edge(halves, row.scores)) {
        continue;
      }
      const Row<double> g = without_nan(row.upstream);
      worst = std::max(worst, max_difference(gradient_of(unit, {}, row.scores, row.upstream),
                                             central_differences(unit, row.scores, g)));
      ++compared;
    }
    CAPTURE(name_of(unit.kind), worst, compared);
    CHECK(worst <= difference_tolerance);
    CHECK(compared >= random_rows / 2);
  }
}
