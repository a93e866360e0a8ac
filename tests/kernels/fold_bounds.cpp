// Bounds on what folds, merges and sweeps lose, with the reason for each (DESIGN section 8); run
// with -s to see the figures beside their bounds.
#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/attention.hpp"
#include "tests/kernels/cache.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr float infinity_f = std::numeric_limits<float>::infinity();

constexpr double wide_deviation = 30;  // of the scores
constexpr Shape one_head{1, 1, 64, 400};

// Cut anywhere and merged in any order, fp64; 1.4e-14 is usual.
constexpr double split_tolerance = 1e-13;
constexpr std::size_t splits = 200;

// fp32 at wide_deviation: a score near 100 is off by some 1e-5, and its weight by as much.
constexpr double fp32_wide_tolerance = 5e-5;
// Each of 400 folds rounds lse (near 8) and o once more than a sweep would.
constexpr double fp32_folds_tolerance = 2e-5;
constexpr double fp64_folds_tolerance = 1e-12;

// exp, 1 + exp and the division each round once.
constexpr double weight_tolerance = 3 * 0x1p-24;

// Sum of the exponentials of 400 normal scores: the median of 200,000 draws of another generator,
// 1.3e38 (DESIGN: 1.4e38), of which 46.5 % passed the largest fp32. Its logarithm has a standard
// error of 0.1 over 20,000 draws, the share one of 0.004.
constexpr double median_sum = 1.33e38;
constexpr double sum_tolerance = 1.35;
constexpr double overflow_share = 0.465;

void check_close(const States<double>& states, const States<double>& truth, double tolerance) {
  CHECK(max_difference(states.o, truth.o) <= tolerance);
  CHECK(max_difference(states.lse, truth.lse) <= tolerance);
}

}  // namespace

// Splits.

namespace {

/// Rows [first, last) of one_head's cache.
KvRows part(const Cache& cache, std::size_t first, std::size_t last) {
  KvRows rows = cache.rows();
  const std::size_t skipped = first * rows.head_dim * bytes_per_value(rows.format);
  rows.k += skipped;
  rows.v += skipped;
  rows.positions = last - first;
  return rows;
}

/// Merges the neighbours or strangers that chance picks until one state is left. Returns it.
States<double> merge_all(std::vector<States<double>> states, const Random& random) {
  for (std::uint64_t draw = 0; states.size() > 1; draw += 2) {
    std::swap(states.back(), states[random.below(draw, states.size())]);
    const States<double> other = std::move(states.back());
    states.pop_back();
    States<double>& into = states[random.below(draw + 1, states.size())];
    into.lse[0] = merge_reference(into.o, into.lse[0], other.o, other.lse[0]);
  }
  return states[0];
}

}  // namespace

TEST_CASE("four neighbouring shards and two empty ones merge in any order") {
  std::vector<double> errors;
  for (std::uint64_t split = 0; split < splits; ++split) {
    const Random random(81, split);
    const std::vector<double> q = to_doubles(draw_query(one_head, split, wide_deviation));
    const Cache cache = draw_cache(one_head, split);
    std::array<std::size_t, 5> cuts{0, 0, 0, 0, one_head.positions};
    for (std::size_t i = 1; i < 4; ++i) {
      cuts[i] = random.below(100 + i, one_head.positions + 1);
    }
    std::ranges::sort(cuts);
    // Empty shards keep the NaN with which States begin.
    std::vector<States<double>> states(2, States<double>(1, one_head.head_dim));
    states[0].lse[0] = states[1].lse[0] = -infinity;
    for (std::size_t i = 0; i < 4; ++i) {
      states.push_back(swept_reference(q, part(cache, cuts[i], cuts[i + 1])));
    }
    const States<double> merged = merge_all(std::move(states), Random(82, split));
    const States<double> whole = swept_reference(q, cache.rows());
    errors.push_back(
        std::max(max_difference(merged.o, whole.o), max_difference(merged.lse, whole.lse)));
    CHECK(errors.back() <= split_tolerance);
  }
  CHECK(errors.size() == splits);
  CHECK(std::ranges::max(errors) <= split_tolerance);
  CHECK(median(errors) > 0);  // the merged state is a computation of its own
}

// Large scores.

TEST_CASE("scores of deviation 30 over 400 positions give a finite state, and the right one") {
  double worst = 0;
  double largest_lse = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::vector<float> q = draw_query(one_head, seed, wide_deviation);
    const Cache cache = draw_cache(one_head, seed);
    const States<float> fast = swept(q, cache.rows());
    const States<double> truth = swept_reference(to_doubles(q), cache.rows());
    REQUIRE(std::isfinite(fast.lse[0]));
    worst = std::max({worst, max_difference(fast.o, truth.o), max_difference(fast.lse, truth.lse)});
    largest_lse = std::max(largest_lse, truth.lse[0]);
  }
  CHECK(worst <= fp32_wide_tolerance);
  CHECK(largest_lse > std::log(double{std::numeric_limits<float>::max()}));
}

// Why partial results travel as (o, lse) and never as sums of raw exponentials.
TEST_CASE("the unanchored sum of those exponentials overflows fp32 in half of the draws") {
  constexpr std::size_t draws = 20'000;
  std::vector<double> sums;
  std::size_t overflows = 0;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    const Random random(83, draw);
    double sum = 0;
    float sum_f = 0;
    for (std::uint64_t t = 0; t < one_head.positions; ++t) {
      const double score = wide_deviation * random.normal(t);
      sum += std::exp(score);
      sum_f += std::exp(static_cast<float>(score));
    }
    sums.push_back(sum);
    overflows += std::isinf(sum_f) ? 1 : 0;
  }
  CHECK(median(sums) > median_sum / sum_tolerance);
  CHECK(median(sums) < median_sum * sum_tolerance);
  const double share = static_cast<double>(overflows) / draws;
  CHECK(share == Approx(overflow_share).margin(0.015));
}

TEST_CASE("log_add_exp far out") {
  std::size_t checked = 0;
  for (const double at : {1e4, -1e4}) {
    for (const double gap : {0.0, 0.5, 2.0, 15.0, 2e4}) {
      for (const double other : {at + gap, at - gap}) {
        const double expected = std::max(at, other) + std::log1p(std::exp(-gap));
        CAPTURE(at, other);
        CHECK(log_add_exp_reference(at, other) == Approx(expected).epsilon(1e-15));
        CHECK(log_add_exp_reference(other, at) == log_add_exp_reference(at, other));
        const auto x = static_cast<float>(at);
        const auto y = static_cast<float>(other);
        CHECK(double{log_add_exp(x, y)} == Approx(expected).epsilon(0x1p-23));
        CHECK(log_add_exp(y, x) == log_add_exp(x, y));
        ++checked;
      }
    }
    const auto x = static_cast<float>(at);
    CHECK(log_add_exp(x, -infinity_f) == x);
    CHECK(log_add_exp_reference(-infinity, at) == at);
  }
  CHECK(checked == 20);
  CHECK(log_add_exp(-infinity_f, -infinity_f) == -infinity_f);
  CHECK(log_add_exp_reference(-infinity, -infinity) == -infinity);
}

namespace {

// As the definition has it: a long double holds exp(800).
double sigmoid(double x) {
  return static_cast<double>(1 / (1 + std::exp(-static_cast<long double>(x))));
}

}  // namespace

TEST_CASE("the weights of a merge are the two sigmoids, up to 800 apart, and nothing overflows") {
  std::size_t checked = 0;
  double worst = 0;
  std::feclearexcept(FE_ALL_EXCEPT);
  for (int i = -3200; i <= 3200; ++i) {
    const double gap = i / 4.0;
    std::vector<float> weights{1, 0};  // merged with {0, 1}: the weights themselves
    const std::vector<float> other{0, 1};
    merge(weights, static_cast<float>(gap), other, 0);
    const std::array<double, 2> expected{sigmoid(gap), sigmoid(-gap)};
    for (std::size_t side = 0; side < 2; ++side) {
      // fp32 has no digits to spare below 2^-126 and none at all below 2^-149.
      const double error = std::abs(double{weights[side]} - expected[side]);
      worst = std::max(worst, (error - 0x1p-149) / std::max(expected[side], 0x1p-149));
    }
    std::vector<double> exact{1, 0};
    merge_reference(exact, gap, to_doubles(other), 0);
    REQUIRE(exact[0] == Approx(expected[0]).epsilon(1e-13).margin(1e-307));
    REQUIRE(exact[1] == Approx(expected[1]).epsilon(1e-13).margin(1e-307));
    ++checked;
  }
  CHECK(std::fetestexcept(FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO) == 0);
  CHECK(worst <= weight_tolerance);
  CHECK(checked == 6401);
}

// Folds alone.

namespace {

struct Folded {
  States<float> fast;
  States<double> exact;
  std::size_t past_heavier = 0;  // folds with lse > s
  std::size_t present_heavier = 0;
};

/// Every position folded in, one after another, into an empty state that holds NaN.
Folded fold_all(std::span<const float> q, const Cache& cache) {
  const std::size_t d = cache.shape.head_dim;
  Folded folded{States<float>(1, d), States<double>(1, d)};
  folded.fast.lse[0] = -infinity_f;
  folded.exact.lse[0] = -infinity;
  for (std::size_t t = 0; t < cache.shape.positions; ++t) {
    const std::span<const float> k = std::span(cache.k).subspan(t * d, d);
    const std::span<const float> v = std::span(cache.v).subspan(t * d, d);
    const double score =
        std::inner_product(q.begin(), q.end(), k.begin(), 0.0) / std::sqrt(static_cast<double>(d));
    ++(folded.exact.lse[0] > score ? folded.past_heavier : folded.present_heavier);
    fold(q, k, v, d, folded.fast.o, folded.fast.lse);
    fold_reference(to_doubles(q), to_doubles(k), to_doubles(v), d, folded.exact.o,
                   folded.exact.lse);
  }
  return folded;
}

}  // namespace

TEST_CASE("a cache folded in position by position is the sweep over it, both signs of lse - s") {
  std::size_t checked = 0;
  std::size_t later_present_heavier = 0;
  for (const double deviation : {1.0, wide_deviation}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(deviation, seed);
      const std::vector<float> q = draw_query(one_head, seed, deviation);
      const Cache cache = draw_cache(one_head, seed);
      const Folded folded = fold_all(q, cache);
      const States<double> truth = swept_reference(to_doubles(q), cache.rows());
      check_close(folded.exact, truth, fp64_folds_tolerance);
      const double bound = deviation == 1 ? fp32_folds_tolerance : fp32_wide_tolerance;
      CHECK(max_difference(folded.fast.o, truth.o) <= bound);
      CHECK(max_difference(folded.fast.lse, truth.lse) <= bound);
      CHECK(folded.past_heavier >= one_head.positions * 9 / 10);
      REQUIRE(folded.present_heavier >= 1);
      later_present_heavier += folded.present_heavier - 1;  // the first meets -infinity
      ++checked;
    }
  }
  CHECK(checked == 20);
  CHECK(later_present_heavier >= 20);
}

TEST_CASE("no positions are a legal cache in every format") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    CAPTURE(name);
    const KvRows none{.format = format, .kv_heads = 2, .head_dim = 3};
    const std::vector<float> q(3 * 4 * 3, 1);  // three queries of four heads
    States<float> fast(12, 3);
    sweep(q, none, fast.o, fast.lse, {.queries = 3, .threads = 2});
    CHECK(fast.lse == std::vector<float>(12, -infinity_f));
    CHECK(fast.o == std::vector<float>(36, 0));
    CHECK(swept_reference(to_doubles(q), none, 3).lse == std::vector<double>(12, -infinity));
    // The first token of a sequence: all weight is its own.
    const std::vector<float> k{1, 2, 3, -1, -2, -3};
    fold(std::span(q).first(12), k, k, 3, std::span(fast.o).first(12),
         std::span(fast.lse).first(4));
    CHECK(std::ranges::equal(std::span(fast.o).first(3), std::span(k).first(3)));
    CHECK(fast.lse[0] == Approx(6 / std::numbers::sqrt3).epsilon(1e-6));
    CHECK(fast.lse[3] == -fast.lse[0]);
    ++checked;
  }
  CHECK(checked == 6);
}

// Formats of the cache.

namespace {

/// What keeping the cache in a format costs one sweep, in relative L2 of o; q and o stay fp32.
///
/// Let e be the format's own error, the relative L2 distance of drawn values from their rounded
/// selves: about 0.4 unit roundoffs of a floating format (2^-11, 2^-8, 2^-4, 2^-3 for 10, 7, 3 and
/// 2 fraction bits); for int8 a step, 1/127 of the largest of a row, over sqrt(12). Values are off
/// by e, and since o averages values and their errors alike, so is o. Scores of deviation 1 are off
/// by e in absolute terms, hence weights by e in relative ones, hence o by e again. The two are
/// independent: sqrt(2) e. A bf16 query and result on the wire would add e each, 2 e in all.
struct FormatCost {
  Format format;
  double worst;   // 1.3 times the worst of 40 seeds at n = 512, 1,000 and 4,096
  double median;  // of them, within 10 %
};
constexpr std::array<FormatCost, 5> format_costs{{{Format::fp16, 5.8e-4, 2.97e-4},
                                                  {Format::bf16, 4.1e-3, 2.35e-3},
                                                  {Format::fp8_e4m3, 7e-2, 3.8e-2},
                                                  {Format::fp8_e5m2, 0.13, 7.6e-2},
                                                  {Format::int8, 1.45e-2, 9e-3}}};

struct Errors {
  std::vector<double> of_o;
  std::vector<double> over_expected;  // the same over sqrt(2) e
};

void add_errors(std::size_t positions, std::uint64_t seed, std::vector<Errors>& errors) {
  const Shape shape{2, 1, 128, positions};
  const std::vector<float> q = draw_query(shape, seed);
  const Cache wide = draw_cache(shape, seed);
  const States<double> truth = swept_reference(to_doubles(q), wide.rows());
  for (std::size_t i = 0; i < format_costs.size(); ++i) {
    const Cache narrow = make_cache(shape, wide.k, wide.v, format_costs[i].format);
    const double error = relative_distance(swept(q, narrow.rows()).o, truth.o);
    const double own =
        std::hypot(relative_distance(narrow.k, wide.k), relative_distance(narrow.v, wide.v));
    errors[i].of_o.push_back(error);
    errors[i].over_expected.push_back(error / own);
  }
}

TEST_CASE(
    "scores of minus infinity alone are an empty state in every form, a NaN among them is not") {
  for (const bool with_nan : {false, true}) {
    CAPTURE(with_nan);
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> k{-inf, with_nan ? std::numeric_limits<float>::quiet_NaN() : -inf};
    const std::vector<float> v{3, 4};
    KvRows rows;
    rows.k = std::as_bytes(std::span(k)).data();
    rows.v = std::as_bytes(std::span(v)).data();
    rows.kv_heads = 1;
    rows.head_dim = 1;
    rows.head_rows = 2;
    rows.positions = 2;
    const std::vector<float> q{1};
    std::vector<float> scratch(2);
    std::vector<float> online(2);
    std::vector<float> three(2);
    std::vector<double> truth(2);
    sweep(q, rows, std::span(online).first(1), std::span(online).last(1));
    sweep_three_step(q, rows, scratch, std::span(three).first(1), std::span(three).last(1));
    sweep_reference(std::vector<double>{1}, rows, std::span(truth).first(1),
                    std::span(truth).last(1));
    for (const double lse : {double{online[1]}, double{three[1]}, truth[1]}) {
      CHECK((with_nan ? std::isnan(lse) : lse == -inf));
    }
    for (const double o : {double{online[0]}, double{three[0]}, truth[0]}) {
      CHECK((with_nan ? std::isnan(o) : o == 0));
    }
  }
}

TEST_CASE("a score or state that is no number never comes out as one") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const float other : {1.0F, -inf, inf, nan}) {
    CHECK(std::isnan(log_add_exp(nan, other)));
    CHECK(std::isnan(log_add_exp(other, nan)));
  }
  for (const float bad : {nan, inf}) {
    for (const float good : {1.0F, -inf}) {
      CAPTURE(bad, good);
      std::vector<float> o{1, 2};
      merge(o, good, std::vector<float>{3, 4}, bad);
      CHECK(std::isnan(o[0]));
      CHECK(std::isnan(o[1]));
    }
    std::vector<float> o{1, 2};  // the other way round
    merge(o, bad, std::vector<float>{3, 4}, 1);
    CHECK(std::isnan(o[0]));
  }
  std::vector<float> o{0, 0};
  std::vector<float> lse{-inf};
  fold(std::vector<float>{nan, 1}, std::vector<float>{1, 1}, std::vector<float>{5, 6}, 2, o, lse);
  CHECK(std::isnan(o[0]));
  CHECK(std::isnan(lse[0]));
}

}  // namespace

TEST_CASE("what a cache in each format costs one sweep") {
  std::vector<Errors> errors(format_costs.size());
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    add_errors(512, seed, errors);
    add_errors(1000, seed, errors);
    if (seed <= 8) {  // enough to see that the error does not depend on n
      add_errors(4096, seed, errors);
    }
  }
  for (std::size_t i = 0; i < format_costs.size(); ++i) {
    CAPTURE(name_of(format_costs[i].format));
    CHECK(errors[i].of_o.size() == 40 + 40 + 8);
    CHECK(std::ranges::max(errors[i].of_o) <= format_costs[i].worst);
    CHECK(median(errors[i].of_o) == Approx(format_costs[i].median).epsilon(0.1));
    CHECK(median(errors[i].over_expected) == Approx(1).epsilon(0.1));
  }
}
