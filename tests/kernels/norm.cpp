#include "kernels/norm.hpp"

#include <cmath>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr double epsilon = 1e-6;
// Three roundings of a value of size up to 5.
constexpr double tolerance = 2e-6;

std::vector<Bf16> ones(std::size_t size) { return std::vector<Bf16>(size, to_bf16(1)); }

std::vector<float> normed(std::span<const float> x, std::span<const Bf16> gain, double eps) {
  std::vector<float> y(x.size(), NAN);
  rms_norm(x, gain, eps, y);
  return y;
}

}  // namespace

TEST_CASE("rms_norm by hand, with its reference") {
  // The mean square of (3, 4) is 12.5.
  const std::vector<float> x{3, 4};
  const std::vector<Bf16> gain = to_bf16s(std::vector<float>{2, -1});
  const std::vector<double> expected{1.6970562748477140, -1.1313708498984760};
  CHECK(max_difference(normed(x, gain, 0), expected) <= tolerance);
  std::vector<double> y(2, NAN);
  rms_norm_reference(to_doubles(x), gain, 0, y);
  CHECK(max_difference(y, expected) <= 1e-15);
  // With epsilon 12.5 the divisor is 5.
  const std::vector<double> damped{1.2, -0.8};
  CHECK(max_difference(normed(x, gain, 12.5), damped) <= tolerance);
  rms_norm_reference(to_doubles(x), gain, 12.5, y);
  CHECK(max_difference(y, damped) <= 1e-15);
}

TEST_CASE("rms_norm of a constant vector is its sign, whatever the size") {
  std::size_t checked = 0;
  for (std::size_t size = 1; size <= 33; ++size) {
    const std::vector<float> x(size, -7);
    CHECK(normed(x, ones(size), 0) == std::vector<float>(size, -1));
    ++checked;
  }
  CHECK(checked == 33);
}

TEST_CASE("rms_norm of zero is zero") {
  CHECK(normed(std::vector<float>(9, 0), ones(9), epsilon) == std::vector<float>(9, 0));
}

TEST_CASE("the mean square is summed beyond the range of fp32") {
  const std::vector<float> x(11, 1e30F);
  CHECK(max_difference(normed(x, ones(11), epsilon), std::vector<double>(11, 1)) <= tolerance);
}

TEST_CASE("rms_norm agrees with its reference, also in place") {
  std::size_t checked = 0;
  for (const std::size_t size : {1U, 2U, 7U, 8U, 9U, 127U, 128U, 129U, 1024U, 2560U}) {
    CAPTURE(size);
    const std::vector<float> x = draw_floats(size, 31, 1);
    const std::vector<Bf16> gain = to_bf16s(draw_floats(size, 31, 2));
    std::vector<double> expected(size, NAN);
    rms_norm_reference(to_doubles(x), gain, epsilon, expected);
    const std::vector<float> y = normed(x, gain, epsilon);
    CHECK(max_difference(y, expected) <= tolerance);
    std::vector<float> in_place = x;
    rms_norm(in_place, gain, epsilon, in_place);
    CHECK(in_place == y);
    ++checked;
  }
  CHECK(checked == 10);
}

TEST_CASE("head_norm is rms_norm of each head") {
  constexpr std::size_t heads = 3;
  for (const std::size_t size : {1U, 5U, 128U}) {
    CAPTURE(size);
    const std::vector<Bf16> gain = to_bf16s(draw_floats(size, 32, 1));
    const std::vector<float> x = draw_floats(heads * size, 32, 2);
    std::vector<float> y = x;
    head_norm(y, gain, epsilon);
    std::vector<double> reference = to_doubles(x);
    head_norm_reference(reference, gain, epsilon);
    std::vector<float> expected;
    for (std::size_t h = 0; h < heads; ++h) {
      const auto head = normed(std::span(x).subspan(h * size, size), gain, epsilon);
      expected.insert(expected.end(), head.begin(), head.end());
    }
    CHECK(y == expected);
    CHECK(max_difference(y, reference) <= tolerance);
  }
}
