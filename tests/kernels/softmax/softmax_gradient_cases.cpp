// The backward rules on the worked row, the sums that their gradients must and must not have, and
// the conventions at ties, edges, masks and constant rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/softmax/softmax_gradient.hpp"
#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

using enum SoftmaxKind;
using enum Reconstruction;
using enum Surrogate;
using enum CalibrationGradient;

using Row = std::vector<double>;

constexpr double printed_digits = 5e-13;  // half of the twelfth
constexpr double fp64_tolerance = 1e-14;
constexpr double zero_sum_tolerance = 1e-13;
constexpr double clearly_not_zero = 1e-3;
constexpr double poison = std::numeric_limits<double>::quiet_NaN();

// DESIGN section 8.
const Row worked_scores{0.4, -1.25, 2, -3, 1.1};
const Row worked_upstream{1, -0.5, 0.25, 2, -1};

constexpr std::array all_modes{full, detach, max_only, min_only};

struct Rule {
  SoftmaxUnit unit;
  Surrogate surrogate = none;
};

const std::vector<Rule> lerp_rules{
    {{min_max, lerp}},  {{min_max, nearest}, weight_ste},  {{min_max, nearest}, prob_ste},
    {{fwm, lerp}},      {{fwm, nearest}, weight_ste},      {{fwm, nearest}, prob_ste},
    {{resolved, lerp}}, {{resolved, nearest}, weight_ste}, {{resolved, nearest}, prob_ste},
};

Row gradient_of(const Rule& rule, const Row& s, const Row& g, CalibrationGradient mode = full) {
  Row gradient(s.size(), -1);
  softmax_gradient<double>(rule.unit, {rule.surrogate, mode}, s, g, gradient);
  return gradient;
}

Row worked(const Rule& rule, CalibrationGradient mode = full) {
  return gradient_of(rule, worked_scores, worked_upstream, mode);
}

double sum_of(const Row& row) { return std::accumulate(row.begin(), row.end(), 0.0); }

double median_sum(const Rule& rule, CalibrationGradient mode) {
  Row sums;
  for (std::uint64_t seed = 0; seed < 51; ++seed) {
    sums.push_back(std::abs(
        sum_of(gradient_of(rule, draw(33, 95, 2 * seed, 3), draw(33, 95, 2 * seed + 1), mode))));
  }
  return median(sums);
}

Row exact_gradient(const Row& s, const Row& g) { return gradient_of({{exact}}, s, g); }

}  // namespace

TEST_CASE("the worked row of the backward rules, to twelve digits") {
  Row p(5);
  softmax_row<double>({min_max, lerp}, worked_scores, p);
  CHECK(max_difference(p, Row{.129585653411, .026533892921, .565216582462, .003808399376,
                              .274855471830}) <= printed_digits);
  const Row whole{.093321988548, -.012986621573, .195805528354, .043380271679, -.319521167008};
  CHECK(max_difference(worked({{min_max, lerp}}), whole) <= printed_digits);
  Row cut = whole;
  cut[2] = .083758153313;
  cut[3] = .015247711753;
  CHECK(max_difference(worked({{min_max, lerp}}, detach), cut) <= printed_digits);
  CHECK(max_difference(worked({{min_max, nearest}, weight_ste}),
                       Row{.085987183299, -.019200238446, .293397770785, .051732589473,
                           -.411917305110}) <= printed_digits);
  CHECK(max_difference(worked({{fwm, lerp}}), Row{.067081164196, -.006555559897, .208707836717,
                                                  .006541452933, -.275774893949}) <=
        printed_digits);
  // Not worked there; Prob-STE's Jacobian is lerp's own, whatever the hard forward.
  CHECK(worked({{min_max, nearest}, prob_ste}) == worked({{min_max, lerp}}));
  CHECK(worked({{fwm, nearest}, prob_ste}) == worked({{fwm, lerp}}));
}

TEST_CASE("max_only and min_only each keep their own end of the worked row") {
  const Row all = worked({{min_max, lerp}});
  const Row none_kept = worked({{min_max, lerp}}, detach);
  const Row with_max = worked({{min_max, lerp}}, max_only);
  const Row with_min = worked({{min_max, lerp}}, min_only);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(with_max[i] == (i == 2 ? all[i] : none_kept[i]));
    CHECK(with_min[i] == (i == 3 ? all[i] : none_kept[i]));
  }
}

TEST_CASE("row gradients sum to zero where they must, and not elsewhere") {
  for (const Rule& rule : lerp_rules) {
    CAPTURE(name_of(rule.unit.kind), name_of(rule.surrogate));
    CHECK(median_sum(rule, full) <= zero_sum_tolerance);
    CHECK(median_sum(rule, detach) >= clearly_not_zero);
    CHECK(median_sum(rule, min_only) >= clearly_not_zero);
    const double with_max = median_sum(rule, max_only);
    CHECK((rule.unit.kind == min_max ? with_max >= clearly_not_zero
                                     : with_max <= zero_sum_tolerance));
  }
  // Without a grid detach loses nothing under `exact`, which normalises where it differentiates,
  // and under fp8_exp it does.
  CHECK(median_sum({{exact}}, detach) <= zero_sum_tolerance);
  CHECK(median_sum({{fp8_exp}}, full) <= zero_sum_tolerance);
  CHECK(median_sum({{bf16_exp}}, full) <= zero_sum_tolerance);
  CHECK(median_sum({{fp8_exp}}, detach) >= 1e-5);
  CHECK(median_sum({{min_max, nearest}}, full) <= zero_sum_tolerance);
  CHECK(median_sum({{min_max, nearest}}, max_only) >= clearly_not_zero);
}

TEST_CASE("without a term for the minimum, max_only is full and min_only is detach") {
  const Row s = draw(40, 96, 1, 3);
  const Row g = draw(40, 96, 2);
  for (const Rule& rule : lerp_rules) {
    if (rule.unit.kind != min_max) {
      CHECK(gradient_of(rule, s, g, max_only) == gradient_of(rule, s, g, full));
      CHECK(gradient_of(rule, s, g, min_only) == gradient_of(rule, s, g, detach));
    }
  }
}

TEST_CASE("projection removes the common part and nothing else") {
  const Row s{0.4, masked<double>, 2, -3, 1.1};
  Row gradient{3, 0, -1, 2, 4};
  project_zero_sum<double>(s, gradient);
  CHECK(gradient == Row{1, 0, -3, 0, 2});

  Row detached = worked({{min_max, lerp}}, detach);
  const Row before = detached;
  CHECK(std::abs(sum_of(before)) >= clearly_not_zero);
  project_zero_sum<double>(worked_scores, detached);
  CHECK(std::abs(sum_of(detached)) <= zero_sum_tolerance);
  for (std::size_t i = 1; i < before.size(); ++i) {
    CHECK(before[i] - before[0] == Approx(detached[i] - detached[0]).epsilon(1e-13));
  }
  Row nothing(3, 0);
  project_zero_sum<double>(Row(3, masked<double>), nothing);
  CHECK(nothing == Row(3, 0));
}

TEST_CASE("tied extrema share their term evenly") {
  const Row s{2, -1, 2, 0.3, -1, -1};
  const Row g{0.3, -0.2, 0.3, 1, -0.2, -0.2};
  for (const Rule& rule : lerp_rules) {
    const Row gradient = gradient_of(rule, s, g);
    const Row detached = gradient_of(rule, s, g, detach);
    CHECK(gradient[0] == gradient[2]);
    CHECK(gradient[1] == gradient[4]);
    CHECK(gradient[1] == gradient[5]);
    CHECK(gradient[3] == detached[3]);
    CHECK(gradient[0] != detached[0]);
    CHECK(std::abs(sum_of(gradient)) <= zero_sum_tolerance);
  }
}

TEST_CASE("a masked key has no gradient and its upstream is not read") {
  const Row s{masked<double>, 0.4, -1.25, masked<double>, 2, -3, 1.1};
  const Row g{poison, 1, -0.5, poison, 0.25, 2, -1};
  for (const Rule& rule : lerp_rules) {
    for (const CalibrationGradient mode : all_modes) {
      const Row w = worked(rule, mode);
      CHECK(gradient_of(rule, s, g, mode) == Row{0, w[0], w[1], 0, w[2], w[3], w[4]});
    }
  }
  for (const SoftmaxKind kind : {exact, min_max, fwm, resolved, bf16_exp, fp8_exp}) {
    CHECK(gradient_of({{kind}}, Row(3, masked<double>), Row(3, poison)) == Row(3, 0));
    CHECK(gradient_of({{kind}}, {}, {}).empty());
    CHECK(gradient_of({{kind}}, {4.5}, {-2}) == Row{0});
  }
}

TEST_CASE("nothing reaches the tail that fwm cuts") {
  const Row s{0, -1, -6, std::nextafter(-6.0, -7.0), -50};
  const Row g{1, -2, 0.5, 30, -40};
  for (const Rule& rule :
       {Rule{{fwm, lerp}}, Rule{{fwm, nearest}, weight_ste}, Rule{{fwm, nearest}, prob_ste}}) {
    const Row gradient = gradient_of(rule, s, g);
    const Row alone = gradient_of(rule, {0, -1, -6}, {1, -2, 0.5});
    CHECK(gradient == Row{alone[0], alone[1], alone[2], 0, 0});
    CHECK(alone[2] != 0);
  }
  CHECK(gradient_of({{resolved}}, s, g)[4] != 0);
}

TEST_CASE("a key on a bin edge has the slope of the bin above it") {
  // At K = 4 and tau = 6: -4.5, an edge, against a hair above and below it.
  for (const SoftmaxKind kind : {min_max, fwm, resolved}) {
    const auto at = [&](double score) {
      return gradient_of({{kind}}, {0, score, -6}, {1, -1, 0.5}, detach)[1];
    };
    CHECK(at(-4.5) == Approx(at(-4.5 + 1e-9)).epsilon(1e-7));
    CHECK(std::abs(at(-4.5) / at(-4.5 - 1e-9) - 1) > 0.5);
  }
}

TEST_CASE("a constant row has the gradient of the exact softmax") {
  const Row g{1, -0.5, 0.25, 2};
  const Row truth{0.078125, -0.296875, -0.109375, 0.328125};  // (g - 0.6875) / 4
  for (const CalibrationGradient mode : all_modes) {
    for (const Rule& rule : {Rule{{min_max, lerp}}, Rule{{min_max, nearest}, weight_ste},
                             Rule{{min_max, nearest}, prob_ste}, Rule{{exact}}}) {
      CHECK(gradient_of(rule, Row(4, 3.5), g, mode) == truth);
    }
    CHECK(gradient_of({{min_max, nearest}}, Row(4, 3.5), g, mode) == Row(4, 0));
  }
  // And it is the limit of rows that close up, which the convention is chosen for.
  const Row shape{0.3, -1, 1, 0.1};
  double before = 1;
  for (const double size : {1.0, 1e-2, 1e-4, 1e-6}) {
    Row s = shape;
    std::ranges::for_each(s, [size](double& score) { score *= size; });
    const double distance = max_difference(gradient_of({{min_max}}, s, g), truth);
    CHECK(distance < 0.2 * before);
    before = distance;
  }
  CHECK(before <= 1e-6);
}

TEST_CASE("with many intervals every rule nears the exact softmax") {
  const Row s = draw(30, 97, 1, 1);
  const Row g = draw(30, 97, 2);
  for (Rule rule : lerp_rules) {
    rule.unit.intervals = 4096;
    CHECK(max_difference(gradient_of(rule, s, g), exact_gradient(s, g)) <= 1e-3);
  }
  Row p(30);
  softmax_row<double>({exact}, s, p);
  const double mean = std::inner_product(p.begin(), p.end(), g.begin(), 0.0);
  for (std::size_t j = 0; j < s.size(); ++j) {
    CHECK(exact_gradient(s, g)[j] == Approx(p[j] * (g[j] - mean)).epsilon(1e-12).margin(1e-15));
  }
}

TEST_CASE("the surrogates coincide on a row of grid points") {
  const Row s{0, -1.5, -6, -3, -1.5};
  const Row g{1, 0.5, -2, 0.25, 1};
  for (const SoftmaxKind kind : {min_max, fwm, resolved}) {
    const Row soft = gradient_of({{kind, lerp}}, s, g);
    CHECK(max_difference(gradient_of({{kind, nearest}, weight_ste}, s, g), soft) <= fp64_tolerance);
    CHECK(max_difference(gradient_of({{kind, nearest}, prob_ste}, s, g), soft) <= fp64_tolerance);
  }
}

TEST_CASE("the slopes of both hard maps") {
  // Levels of the worked row at h = 1.25: z = -1.6, -3.25, 0, -5, -0.9 give 3, 1, 4, 0, 3.
  Row slopes(5, -1);
  hard_slopes<double>({min_max}, worked_scores, slopes);
  const Row truth{std::exp(-1.25) / 4, 0.75 * std::exp(-3.75), 0, std::exp(-5.0),
                  std::exp(-1.25) / 4};
  CHECK(max_difference(slopes, truth) <= fp64_tolerance);
  for (const SoftmaxKind kind : {fwm, resolved}) {
    hard_slopes<double>({kind}, worked_scores, slopes);
    CHECK(slopes == Row(5, 0));
    CHECK(worked({{kind, nearest}}) == Row(5, 0));
  }
  Row some(3, -1);
  hard_slopes<double>({min_max}, Row{1, masked<double>, 0}, some);
  CHECK(some == Row{0, 0, std::exp(-1.0)});
  hard_slopes<double>({min_max}, Row(3, 2), some);
  CHECK(some == Row(3, 0));
}

TEST_CASE("two keys under min_max nearest have the gradient of the two-element softmax") {
  const Row s{0.2, -1.9};
  const Row g{1.5, -0.5};
  CHECK(max_difference(gradient_of({{min_max, nearest}}, s, g), exact_gradient(s, g)) <=
        fp64_tolerance);
}

TEST_CASE("the gradient of bf16_exp is that of its casts") {
  // w = 1 and bf16(e^-1) = 188/512, W = 700/512; gamma = 0.196441 and -0.534988, as bf16 201/1024
  // and -137/256; times w, as bf16, 201/1024 and -201/1024; and M's term is 0.
  const Row gradient = gradient_of({{bf16_exp}}, {0, -1}, {1, 0});
  CHECK(gradient == Row{201.0 / 1024, -201.0 / 1024});
  // Three keys: gamma = 0.222654 and twice -0.442713, as bf16 228/1024 and -227/512. Times w =
  // 188/512 that is -0.162785, as bf16 -167/1024 (unrounded gamma would give -166), and times
  // 139/1024 -247/4096. What they leave over, 3/4096, goes to the maximum.
  CHECK(gradient_of({{bf16_exp}}, {0, -1, -2}, {1, 0, 0}) ==
        Row{(912.0 + 3) / 4096, -668.0 / 4096, -247.0 / 4096});
  const Row s = draw(64, 98, 1, 2);
  const Row g = draw(64, 98, 2);
  const double distance = relative_distance(gradient_of({{bf16_exp}}, s, g), exact_gradient(s, g));
  CHECK(distance <= 2e-2);
  CHECK(distance >= 1e-4);
}

TEST_CASE("the rules in fp32 follow those in fp64") {
  for (const Rule& rule : lerp_rules) {
    const std::vector<float> s = draw_floats(65, 99, 1, 2);
    const std::vector<float> g = draw_floats(65, 99, 2);
    std::vector<float> gradient(65, -1);
    softmax_gradient<float>(rule.unit, {rule.surrogate, full}, s, g, gradient);
    CHECK(max_difference(gradient, gradient_of(rule, to_doubles(s), to_doubles(g))) <= 2e-6);
  }
}
