#include "kernels/rotary.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr double theta = 1e6;
// Two products and a sum of values of size up to 5.
constexpr double tolerance = 1e-6;

std::vector<float> turned(std::vector<float> heads, std::size_t head_dim, std::size_t position) {
  rotary(heads, head_dim, position, theta);
  return heads;
}

double dot(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

TEST_CASE("rotary at position 0 changes nothing") {
  const std::vector<float> x = draw_floats(3 * 64, 41, 1);
  CHECK(turned(x, 64, 0) == x);
  std::vector<double> reference = to_doubles(x);
  rotary_reference(reference, 64, 0, theta);
  CHECK(reference == to_doubles(x));
}

// Pairs are (1, 3) and (2, 4); theta 10,000 turns them by 1 and by 0.01.
TEST_CASE("rotary by hand, with its reference") {
  const std::vector<double> expected{-1.9841106485555495, 1.9599006674966642, 2.4623779024123155,
                                     4.0197996683349940};
  std::vector<float> heads{1, 2, 3, 4};
  rotary(heads, 4, 1, 10'000);
  CHECK(max_difference(heads, expected) <= tolerance);
  std::vector<double> reference{1, 2, 3, 4};
  rotary_reference(reference, 4, 1, 10'000);
  CHECK(max_difference(reference, expected) <= 1e-14);
}

TEST_CASE("rotary turns a pair of two by the position itself") {
  const std::vector<double> expected{std::cos(2.0), std::sin(2.0)};
  CHECK(max_difference(turned({1, 0}, 2, 2), expected) <= tolerance);
}

TEST_CASE("rotary agrees with its reference, near and far") {
  std::size_t checked = 0;
  for (const std::size_t head_dim : {2U, 6U, 64U, 128U}) {
    for (const std::size_t position : {1U, 7U, 4608U, 1'000'000U, 16'777'217U}) {
      CAPTURE(head_dim, position);
      const std::vector<float> x = draw_floats(3 * head_dim, 42, head_dim);
      std::vector<double> expected = to_doubles(x);
      rotary_reference(expected, head_dim, position, theta);
      CHECK(max_difference(turned(x, head_dim, position), expected) <= tolerance);
      ++checked;
    }
  }
  CHECK(checked == 20);
}

TEST_CASE("rotary keeps norms, and inner products depend on the distance alone") {
  constexpr std::size_t head_dim = 128;
  constexpr double product_tolerance = 2e-5;  // sums of 128 terms of fp32 values
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::vector<float> q = draw_floats(head_dim, seed, 1);
    const std::vector<float> k = draw_floats(head_dim, seed, 2);
    const std::vector<float> far = turned(q, head_dim, 5000);
    CHECK(std::abs(dot(far, far) - dot(q, q)) <= product_tolerance);
    const double near_product = dot(turned(q, head_dim, 19), turned(k, head_dim, 7));
    const double far_product = dot(turned(q, head_dim, 30'012), turned(k, head_dim, 30'000));
    CHECK(std::abs(far_product - near_product) <= product_tolerance);
    // And they do depend on it.
    const double other = dot(turned(q, head_dim, 20), turned(k, head_dim, 7));
    CHECK(std::abs(other - near_product) > 1e-3);
    ++checked;
  }
  CHECK(checked == 5);
}

TEST_CASE("rotary turns every head alike") {
  const std::vector<float> head = draw_floats(64, 43, 1);
  std::vector<float> two = head;
  two.insert(two.end(), head.begin(), head.end());
  std::vector<float> expected = turned(head, 64, 99);
  expected.insert(expected.end(), expected.begin(), expected.begin() + 64);
  CHECK(turned(two, 64, 99) == expected);
}
