// Each softmax unit on whole rows: against the formulas, and at every edge that they have.
#include "kernels/softmax/softmax_unit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

using enum SoftmaxKind;
using enum Reconstruction;

constexpr double row_sum_tolerance = 1e-6;  // 000 appendix A: its 152 cases
constexpr double fp64_tolerance = 1e-14;
// At the spans drawn here (to 30 nats) a score, and so the log of a weight, is off by some 2e-6.
constexpr double fp32_tolerance = 1e-5;
// t, near 0 at the foot of a bin, is off by some 1e-7, whatever the bin's lower end weighs.
constexpr double fp32_margin = 2e-7;

const std::vector<SoftmaxUnit> all_units{
    {exact},          {min_max, lerp},     {min_max, nearest}, {fwm, lerp}, {fwm, nearest},
    {resolved, lerp}, {resolved, nearest}, {bf16_exp},         {fp8_exp}};

std::string name(const SoftmaxUnit& unit) {
  return std::string(name_of(unit.kind)) + ' ' + std::string(name_of(unit.reconstruction)) + ' ' +
         std::to_string(unit.intervals);
}

template <class Value = double>
std::vector<Value> row(const SoftmaxUnit& unit, const std::vector<double>& scores) {
  const std::vector<Value> cast(scores.begin(), scores.end());
  std::vector<Value> probabilities(scores.size(), -1);
  softmax_row<Value>(unit, cast, probabilities);
  return probabilities;
}

template <class Value = double>
std::vector<Value> weights_of(const SoftmaxUnit& unit, const std::vector<double>& scores) {
  const std::vector<Value> cast(scores.begin(), scores.end());
  std::vector<Value> w(scores.size(), -1);
  weights(unit, extrema_of<Value>(cast), cast, w);
  return w;
}

std::vector<double> reference_weights(const SoftmaxUnit& unit, const std::vector<double>& scores) {
  std::vector<double> w(scores.size());
  const Extrema<double> extrema = extrema_of<double>(scores);
  std::ranges::transform(scores, w.begin(),
                         [&](double score) { return weight_reference(unit, extrema, score); });
  return w;
}

// Rows of one pattern: ordinary at several widths, and each degenerate one.
using Pattern = double (*)(double drawn, std::size_t j);
constexpr std::array<Pattern, 12> patterns{
    [](double drawn, std::size_t) { return 0.1 * drawn; },
    [](double drawn, std::size_t) { return 2 * drawn; },
    [](double drawn, std::size_t) { return 10 * drawn; },
    [](double drawn, std::size_t) { return 100 * drawn; },
    [](double drawn, std::size_t) { return std::round(drawn); },  // ties
    [](double, std::size_t) { return 3.7; },
    [](double, std::size_t j) { return 1 + 1e-13 * static_cast<double>(j); },  // nearly constant
    [](double, std::size_t j) { return -0.75 * static_cast<double>(j); },      // edges, midpoints
    [](double drawn, std::size_t j) { return j == 0 ? 0.0 : -40 - drawn; },    // one in the window
    [](double drawn, std::size_t j) { return drawn + (j % 3 == 1 ? masked<double> : 0.0); },
    [](double, std::size_t j) { return j == 0 ? -6.0 : masked<double>; },
    [](double, std::size_t j) { return j == 0 ? 1e30 : -1e30; },
};

std::vector<double> patterned(Pattern pattern, std::size_t keys) {
  std::vector<double> scores = draw(keys, 81, keys);
  for (std::size_t j = 0; j < keys; ++j) {
    scores[j] = pattern(scores[j], j);
  }
  return scores;
}

template <class Value>
std::size_t check_rows_sum_to_one(const SoftmaxUnit& unit) {
  std::size_t checked = 0;
  for (std::size_t pattern = 0; pattern < patterns.size(); ++pattern) {
    for (const std::size_t keys : {1U, 2U, 3U, 7U, 8U, 9U, 33U, 257U}) {
      CAPTURE(name(unit), pattern, keys);
      double sum = 0;
      bool in_range = true;
      for (const Value p : row<Value>(unit, patterned(patterns[pattern], keys))) {
        in_range = in_range && p >= 0 && p <= 1;  // no NaN either
        sum += double{p};
      }
      CHECK(in_range);
      CHECK(std::abs(sum - 1) <= row_sum_tolerance);
      ++checked;
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("softmax units have names") {
  CHECK(value_named<SoftmaxKind>("fp8_exp") == fp8_exp);
  CHECK(value_named<SoftmaxKind>("min_max") == min_max);
  CHECK(name_of(resolved) == "resolved");
  CHECK(value_named<Reconstruction>("nearest") == nearest);
  CHECK_FALSE(value_named<SoftmaxKind>("softmax"));
}

TEST_CASE("rows of every softmax unit sum to one in fp32 and fp64") {
  for (SoftmaxUnit unit : all_units) {
    std::size_t checked = 0;
    for (const std::size_t intervals : {1U, 4U, 16U}) {
      unit.intervals = intervals;
      checked += check_rows_sum_to_one<double>(unit);
      CHECK(check_rows_sum_to_one<float>(unit) == patterns.size() * 8);
    }
    CHECK(checked >= 150);
  }
}

TEST_CASE("softmax units agree with their formulas in fp64") {
  for (SoftmaxUnit unit : all_units) {
    for (const std::size_t intervals : {1U, 2U, 3U, 4U, 16U, 64U}) {
      unit.intervals = intervals;
      for (const double deviation : {0.5, 3.0, 10.0}) {
        CAPTURE(name(unit), deviation);
        const std::vector<double> scores = draw(301, 82, intervals, deviation);
        CHECK(max_difference(weights_of(unit, scores), reference_weights(unit, scores)) <=
              fp64_tolerance);
        std::vector<double> truth(scores.size());
        softmax_row_reference(unit, scores, truth);
        CHECK(max_difference(row(unit, scores), truth) <= fp64_tolerance);
      }
    }
  }
}

TEST_CASE("softmax units agree with their formulas in fp32") {
  std::size_t compared = 0;
  std::size_t flipped = 0;  // a rounding decided the other way: the weight is a neighbour's
  for (SoftmaxUnit unit : all_units) {
    for (const std::size_t intervals : {1U, 4U, 16U}) {
      unit.intervals = intervals;
      const std::vector<float> scores = draw_floats(501, 83, intervals, 5);
      const std::vector<double> truth = reference_weights(unit, to_doubles(scores));
      const std::vector<float> w = weights_of<float>(unit, to_doubles(scores));
      for (std::size_t j = 0; j < w.size(); ++j) {
        const bool is_close =
            std::abs(double{w[j]} - truth[j]) <= fp32_tolerance * truth[j] + fp32_margin;
        flipped += is_close ? 0 : 1;
        ++compared;
        const bool rounds = unit.reconstruction == nearest || !has_grid(unit.kind);
        CHECK((is_close || rounds));
      }
    }
  }
  CHECK(compared == all_units.size() * 3 * 501);
  CHECK(flipped <= compared / 1000);
}

TEST_CASE("a constant row gives every unmasked key the same") {
  for (const SoftmaxUnit& unit : all_units) {
    CAPTURE(name(unit));
    CHECK(row(unit, {2, masked<double>, 2, 2, 2}) ==
          std::vector<double>{0.25, 0, 0.25, 0.25, 0.25});
    CHECK(row<float>(unit, {-7, -7}) == std::vector<float>{0.5, 0.5});
  }
  // The border of min_max's degenerate branch: 1e-12 is in it, 1e-11 is not.
  for (const Reconstruction reconstruction : {lerp, nearest}) {
    const SoftmaxUnit unit{min_max, reconstruction};
    CHECK(weights_of(unit, {0, -1e-12, -5e-13}) == std::vector<double>{1, 1, 1});
    CHECK(weights_of(unit, {0, -1e-11})[1] < 1);
    CHECK(weights_of(unit, {0, -1e-11})[1] == Approx(1 - 1e-11).epsilon(1e-15));
  }
}

TEST_CASE("one key has all the probability") {
  for (const SoftmaxUnit& unit : all_units) {
    CAPTURE(name(unit));
    CHECK(row(unit, {-123.25}) == std::vector<double>{1});
    CHECK(row(unit, {masked<double>, 5, masked<double>}) == std::vector<double>{0, 1, 0});
  }
}

TEST_CASE("an empty row and a row without an unmasked key weigh nothing") {
  for (const SoftmaxUnit& unit : all_units) {
    CAPTURE(name(unit));
    const std::vector<double> all_masked(3, masked<double>);
    CHECK(row(unit, all_masked) == std::vector<double>(3, 0));
    CHECK(row<float>(unit, all_masked) == std::vector<float>(3, 0));
    CHECK(weights_of(unit, all_masked) == std::vector<double>(3, 0));
    CHECK(row(unit, {}).empty());
    std::vector<double> reference(3, -1);
    softmax_row_reference(unit, all_masked, reference);
    CHECK(reference == std::vector<double>(3, 0));
  }
  const Extrema<double> none = extrema_of<double>({});
  CHECK(none.max == masked<double>);
  CHECK(none.min == std::numeric_limits<double>::infinity());
  CHECK(log_sum(none, 0) == masked<double>);
}

TEST_CASE("a masked key does not widen min_max's grid") {
  const SoftmaxUnit unit{min_max, lerp};
  const std::vector<double> with_mask = row(unit, {1, masked<double>, -2, 0.3});
  const std::vector<double> without = row(unit, {1, -2, 0.3});
  CHECK(with_mask == std::vector<double>{without[0], 0, without[1], without[2]});
}

TEST_CASE("tied keys weigh the same, bit for bit") {
  for (const SoftmaxUnit& unit : all_units) {
    CAPTURE(name(unit));
    const std::vector<double> p = row(unit, {1.3, -0.7, 1.3, -4.1, -0.7, -4.1});
    CHECK(p[0] == p[2]);
    CHECK(p[1] == p[4]);
    CHECK(p[3] == p[5]);
    CHECK(p[0] > p[1]);
  }
}

TEST_CASE("a key on a bin edge weighs its grid value") {
  // Both grids have the edges -6, -4.5, -3, -1.5 and 0.
  const std::vector<double> scores{10, 8.5, 7, 5.5, 4};
  const std::vector<double> truth{1, std::exp(-1.5), std::exp(-3.0), std::exp(-4.5),
                                  std::exp(-6.0)};
  for (const SoftmaxKind kind : {min_max, fwm, resolved}) {
    for (const Reconstruction reconstruction : {lerp, nearest}) {
      CAPTURE(name_of(kind), name_of(reconstruction));
      CHECK(weights_of({kind, reconstruction}, scores) == truth);
      const std::vector<float> narrow = weights_of<float>({kind, reconstruction}, scores);
      CHECK(max_difference(narrow, truth) <= 1e-7);
    }
  }
}

TEST_CASE("a midpoint goes up, a hair below it goes down") {
  const double below = std::nextafter(-0.75, -1.0);
  for (const SoftmaxKind kind : {min_max, fwm, resolved}) {
    CAPTURE(name_of(kind));
    CHECK(weights_of({kind, nearest}, {0, -0.75, below, -2.25, -6}) ==
          std::vector<double>{1, 1, std::exp(-1.5), std::exp(-1.5), std::exp(-6.0)});
    CHECK(weights_of({kind, lerp}, {0, -0.75, -6})[1] == (1 + std::exp(-1.5)) / 2);
  }
}

TEST_CASE("the window of fwm ends below minus tau") {
  const double outside = std::nextafter(-6.0, -7.0);
  for (const Reconstruction reconstruction : {lerp, nearest}) {
    CHECK(weights_of({fwm, reconstruction}, {0, -6, outside, -100}) ==
          std::vector<double>{1, std::exp(-6.0), 0, 0});
    CHECK(weights_of<float>({fwm, reconstruction}, {0, -6, -6.00001}) ==
          std::vector<float>{1, std::exp(-6.0F), 0});
    CHECK(row({fwm, reconstruction}, {-8, 0, -7, -6.5}) == std::vector<double>{0, 1, 0, 0});
    // resolved keeps them, at its own grid points.
    const std::vector<double> kept = weights_of({resolved, reconstruction}, {0, -6, -7.5, -9.1});
    CHECK(kept[2] == std::exp(-7.5));
    CHECK(kept[3] == Approx(std::exp(-9.1)).epsilon(0.3));
  }
  CHECK(weights_of({resolved, nearest}, {0, -9.1})[1] == std::exp(-9.0));
}

TEST_CASE("one interval joins the two ends of the grid") {
  const double low = std::exp(-6.0);
  for (const SoftmaxKind kind : {min_max, fwm, resolved}) {
    CAPTURE(name_of(kind));
    CHECK(weights_of({kind, nearest, 1}, {0, -2.9, -3.1, -6}) ==
          std::vector<double>{1, 1, low, low});
    CHECK(max_difference(weights_of({kind, lerp, 1}, {0, -1.5, -6}),
                         std::vector<double>{1, 0.75 + 0.25 * low, low}) <= fp64_tolerance);
  }
}

TEST_CASE("two keys under min_max nearest are the two-element softmax") {
  for (const std::size_t intervals : {1U, 3U, 4U, 64U}) {
    for (const double gap : {1e-6, 0.3, 5.0, 90.0}) {
      CAPTURE(intervals, gap);
      CHECK(row({min_max, nearest, intervals}, {0.2, 0.2 - gap}) == row({exact}, {0.2, 0.2 - gap}));
    }
  }
}

TEST_CASE("inside the window fwm and resolved weigh alike, bit for bit") {
  std::size_t inside = 0;
  for (const Reconstruction reconstruction : {lerp, nearest}) {
    for (const std::size_t intervals : {1U, 3U, 4U, 7U, 16U}) {
      const std::vector<double> scores = draw(500, 84, intervals, 3);
      const std::vector<double> cut = weights_of({fwm, reconstruction, intervals}, scores);
      const std::vector<double> kept = weights_of({resolved, reconstruction, intervals}, scores);
      const double max = extrema_of<double>(scores).max;
      for (std::size_t j = 0; j < scores.size(); ++j) {
        const bool is_inside = scores[j] - max >= -6;
        inside += is_inside ? 1 : 0;
        CHECK(cut[j] == (is_inside ? kept[j] : 0));
        CHECK(kept[j] > 0);
      }
    }
  }
  CHECK(inside >= 500);
}

TEST_CASE("fwm with a window as wide as the row is min_max, bit for bit") {
  for (const Reconstruction reconstruction : {lerp, nearest}) {
    const std::vector<double> scores = draw(301, 85, 1, 4);
    const Extrema<double> ends = extrema_of<double>(scores);
    CHECK(weights_of({fwm, reconstruction, 5, ends.max - ends.min}, scores) ==
          weights_of({min_max, reconstruction, 5}, scores));
  }
}

TEST_CASE("nearest has as many levels as its grid") {
  const auto levels = [](const SoftmaxUnit& unit, double deviation) {
    const std::vector<double> w = weights_of(unit, draw(4000, 86, 1, deviation));
    std::set<double> distinct(w.begin(), w.end());
    distinct.erase(0);
    return distinct.size();
  };
  for (const double deviation : {0.5, 3.0, 30.0}) {
    CHECK(levels({fwm, nearest, 4}, deviation) <= 5);
    CHECK(levels({min_max, nearest, 4}, deviation) == 5);
  }
  CHECK(levels({fwm, nearest, 4}, 3) == 5);
  CHECK(levels({fwm, lerp, 4}, 3) > 5);
  CHECK(levels({resolved, nearest, 4}, 3) > 10);  // 000 D.4: 14.5 and 19.1 a row
  CHECK(levels({fwm, nearest, 1}, 3) == 2);
}

TEST_CASE("rounding never lifts a weight above the maximum's") {
  // t is clipped: without that the highest key would weigh an ulp more than 1 in some rows.
  for (const std::size_t intervals : {1U, 3U, 5U, 7U, 11U}) {
    for (const SoftmaxKind kind : {min_max, fwm, resolved}) {
      const SoftmaxUnit unit{kind, lerp, intervals, 1.7};
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const std::vector<float> w = weights_of<float>(unit, draw(20, seed, 89, 2));
        REQUIRE(*std::ranges::max_element(w) <= 1);
      }
    }
  }
}

TEST_CASE("a common shift changes no weight") {
  std::vector<double> scores = draw(99, 87, 1, 4);
  std::vector<double> shifted;
  for (double& score : scores) {
    score = std::ldexp(std::round(std::ldexp(score, 20)), -20);  // so that the shift is exact
    shifted.push_back(score - 1024);
  }
  for (const SoftmaxUnit& unit : all_units) {
    CAPTURE(name(unit));
    CHECK(weights_of(unit, scores) == weights_of(unit, shifted));
  }
}
