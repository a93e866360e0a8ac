#include "kernels/linear.hpp"

#include <cmath>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

// Of an output of unit variance: `columns` products, each 1 / sqrt(columns).
constexpr double tolerance = 1e-6;

struct Size {
  std::size_t rows;
  std::size_t columns;
};
const std::vector<Size> sizes{{1, 1},  {1, 7},     {3, 8},     {5, 9},
                              {2, 15}, {17, 1023}, {16, 1024}, {3, 1025}};
const std::vector<std::size_t> batches{1, 2, 3, 7};

struct Case {
  std::vector<Bf16> values;
  Matrix w;
  std::vector<float> x;
};

Case make(Size size, std::size_t batch) {
  const double deviation = 1 / std::sqrt(static_cast<double>(size.columns));
  Case made{to_bf16s(draw_floats(size.rows * size.columns, 21, 1, deviation)),
            {},
            draw_floats(batch * size.columns, 21, 2)};
  made.w = {made.values, size.rows, size.columns};
  return made;
}

std::vector<float> product(const Matrix& w, std::span<const float> x) {
  std::vector<float> y(x.size() / w.columns * w.rows, NAN);
  linear(w, x, y);
  return y;
}

}  // namespace

TEST_CASE("linear by hand, with its reference") {
  const std::vector<Bf16> values = to_bf16s(std::vector<float>{1, 2, 3, -4, 0, 0.5F});
  const Matrix w{values, 3, 2};
  const std::vector<float> x{0.5F, 0.25F, -1, 8};
  const std::vector<float> expected{1, 0.5F, 0.125F, 15, -35, 4};
  CHECK(product(w, x) == expected);
  std::vector<double> y(6, NAN);
  linear_reference(w, to_doubles(x), y);
  CHECK(y == to_doubles(expected));
}

TEST_CASE("linear counts every column once, whatever the width") {
  std::size_t checked = 0;
  for (std::size_t columns = 1; columns <= 40; ++columns) {
    const std::vector<Bf16> ones(columns, to_bf16(1));
    std::vector<float> x(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      x[c] = static_cast<float>(c + 1);
    }
    const auto expected = static_cast<float>(columns * (columns + 1) / 2);
    CHECK(product({ones, 1, columns}, x) == std::vector<float>{expected});
    ++checked;
  }
  CHECK(checked == 40);
}

TEST_CASE("linear agrees with its reference") {
  std::size_t checked = 0;
  for (const Size size : sizes) {
    for (const std::size_t batch : batches) {
      CAPTURE(size.rows, size.columns, batch);
      const Case given = make(size, batch);
      std::vector<double> expected(batch * size.rows, NAN);
      linear_reference(given.w, to_doubles(given.x), expected);
      CHECK(max_difference(product(given.w, given.x), expected) <= tolerance);
      ++checked;
    }
  }
  CHECK(checked == sizes.size() * batches.size());
}

TEST_CASE("a batch gives each row what the row alone gives, bit for bit") {
  std::size_t checked = 0;
  for (const Size size : sizes) {
    for (const std::size_t batch : batches) {
      CAPTURE(size.rows, size.columns, batch);
      const Case given = make(size, batch);
      std::vector<float> one_by_one;
      for (std::size_t b = 0; b < batch; ++b) {
        const auto row =
            product(given.w, std::span(given.x).subspan(b * size.columns, size.columns));
        one_by_one.insert(one_by_one.end(), row.begin(), row.end());
      }
      CHECK(product(given.w, given.x) == one_by_one);
      ++checked;
    }
  }
  CHECK(checked == sizes.size() * batches.size());
}
