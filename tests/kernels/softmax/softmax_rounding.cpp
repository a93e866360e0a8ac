// The reduced-precision units: what E4M3 and bf16 make of an exponential.
#include <cmath>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "kernels/softmax/softmax_unit.hpp"
#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

template <class Value = double>
std::vector<Value> weights_of(SoftmaxKind kind, const std::vector<double>& scores) {
  const std::vector<Value> cast(scores.begin(), scores.end());
  std::vector<Value> w(scores.size(), -1);
  weights({.kind = kind}, extrema_of<Value>(cast), cast, w);
  return w;
}

}  // namespace

TEST_CASE("E4M3 has 56 nonzero values up to one, and fp8_exp uses them all") {
  std::vector<double> scores;
  for (int i = 0; i <= 8000; ++i) {
    scores.push_back(-1e-3 * i);
  }
  const std::vector<double> w = weights_of(SoftmaxKind::fp8_exp, scores);
  const std::vector<float> narrow = weights_of<float>(SoftmaxKind::fp8_exp, scores);
  std::set<double> values(w.begin(), w.end());
  CHECK(max_difference(w, narrow) == 0);
  CHECK(values.erase(0) == 1);
  CHECK(values.size() == 56);
  CHECK(*values.begin() == std::ldexp(1.0, -9));
  CHECK(*values.rbegin() == 1);
  const auto normal = values.lower_bound(std::ldexp(1.0, -6));
  CHECK(std::distance(values.begin(), normal) == 7);
  CHECK(std::distance(normal, values.end()) == 49);
}

TEST_CASE("worked roundings to E4M3") {
  // DESIGN section 8, and the same through each type.
  const double last = std::ldexp(1.0, -9);
  const std::vector<std::pair<double, double>> worked{{last / 2, 0},
                                                      {0.96875, 1},
                                                      {0.90625, 0.875},
                                                      {2.5 * last, 2 * last},
                                                      {7.5 * last, 8 * last},
                                                      {1.5 * last, 2 * last},
                                                      {1, 1},
                                                      {0, 0},
                                                      {448, 448},
                                                      {500, 448},
                                                      {-0.90625, -0.875}};
  for (const auto& [value, rounded] : worked) {
    CAPTURE(value);
    CHECK(rounded_e4m3(value) == rounded);
    CHECK(double{rounded_e4m3(static_cast<float>(value))} == rounded);
  }
  CHECK(weights_of(SoftmaxKind::fp8_exp, {0, -6.9314, -6.9315}) == std::vector<double>{1, last, 0});
  CHECK(weights_of<float>(SoftmaxKind::fp8_exp, {0, -6.9314, -6.9315}) ==
        std::vector<float>{1, static_cast<float>(last), 0});
  CHECK(rounded_e4m3(std::nextafter(last / 2, 1.0)) == last);
}

TEST_CASE("a double is rounded once") {
  // Just past a tie, by less than fp32 can tell: by way of fp32 these would go to the even side.
  const double hair = std::ldexp(1.0, -40);
  CHECK(rounded_e4m3(0.90625 + hair) == 0.9375);
  CHECK(rounded_e4m3(static_cast<double>(static_cast<float>(0.90625 + hair))) == 0.875);
  CHECK(rounded_bf16(1 + std::ldexp(1.0, -8) + hair) == 1 + std::ldexp(1.0, -7));
  CHECK(rounded_bf16(1 + std::ldexp(1.0, -8)) == 1);
}

TEST_CASE("both types round an fp32 value to the same bf16 and E4M3") {
  std::vector<float> values = draw_floats(2000, 88, 1);
  for (const float size : {1e-40F, 1e-38F, 1e-4F, 1e-2F, 1.0F, 300.0F}) {
    for (const float value : values) {
      const float scaled = value * size;
      REQUIRE(rounded_bf16(double{scaled}) == double{rounded_bf16(scaled)});
      REQUIRE(rounded_e4m3(double{scaled}) == double{rounded_e4m3(scaled)});
    }
  }
}

TEST_CASE("bf16_exp rounds its argument first and its result last") {
  // bf16(-2.3) = -2.296875 (steps of 2^-6); e of it is 0.10057257, in steps of 2^-11 205.97.
  CHECK(weights_of(SoftmaxKind::bf16_exp, {0, -2.3})[1] == 206 * std::ldexp(1.0, -11));
  CHECK(weights_of<float>(SoftmaxKind::bf16_exp, {0, -2.3})[1] == 206 * std::ldexp(1.0F, -11));
  // e^-2.3 itself is 0.10025884, 205.33 steps.
  CHECK(rounded_bf16(std::exp(-2.3)) == 205 * std::ldexp(1.0, -11));
}
