#include "kernels/activation.hpp"

#include <cmath>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr double tolerance = 3e-6;  // a few roundings of a value of size up to 20

}  // namespace

TEST_CASE("swiglu by hand, with its reference") {
  const std::vector<float> gate{0, 1, -1, 2};
  const std::vector<float> up{5, 2, 1, -1};
  const std::vector<double> expected{0, 1.4621171572600098, -0.2689414213699951,
                                     -1.7615941559557649};
  std::vector<float> y(4, NAN);
  swiglu(gate, up, y);
  CHECK(max_difference(y, expected) <= 3e-7);
  std::vector<double> reference(4, NAN);
  swiglu_reference(to_doubles(gate), to_doubles(up), reference);
  CHECK(max_difference(reference, expected) <= 1e-15);
}

TEST_CASE("swiglu far from zero is the gate or nothing") {
  const std::vector<float> gate{100, 1000, -100, -1000};
  const std::vector<float> up(4, 1);
  const std::vector<double> expected{100, 1000, 0, 0};
  std::vector<float> y(4, NAN);
  swiglu(gate, up, y);
  CHECK(max_difference(y, expected) <= 1e-30);
  std::vector<double> reference(4, NAN);
  swiglu_reference(to_doubles(gate), to_doubles(up), reference);
  CHECK(max_difference(reference, expected) <= 1e-30);
}

TEST_CASE("swiglu agrees with its reference, also in place") {
  std::size_t checked = 0;
  for (const std::size_t size : {1U, 3U, 15U, 16U, 17U, 3072U}) {
    CAPTURE(size);
    const std::vector<float> gate = draw_floats(size, 51, 1, 3);
    const std::vector<float> up = draw_floats(size, 51, 2);
    std::vector<double> expected(size, NAN);
    swiglu_reference(to_doubles(gate), to_doubles(up), expected);
    std::vector<float> y(size, NAN);
    swiglu(gate, up, y);
    CHECK(max_difference(y, expected) <= tolerance);
    std::vector<float> on_gate = gate;
    swiglu(on_gate, up, on_gate);
    CHECK(on_gate == y);
    std::vector<float> on_up = up;
    swiglu(gate, on_up, on_up);
    CHECK(on_up == y);
    ++checked;
  }
  CHECK(checked == 6);
}
