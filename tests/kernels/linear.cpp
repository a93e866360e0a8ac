#include "kernels/linear.hpp"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/kernels/on_target.hpp"
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
  RowStore w;
  std::vector<float> x;
};

RowStore store(Format format, Size size, std::span<const float> values) {
  RowStore rows(format, size.rows, size.columns);
  for (std::size_t r = 0; r < size.rows; ++r) {
    rows.write(r, values.subspan(r * size.columns, size.columns));
  }
  return rows;
}

Case make(Format format, Size size, std::size_t batch) {
  const double deviation = 1 / std::sqrt(static_cast<double>(size.columns));
  return {store(format, size, draw_floats(size.rows * size.columns, 21, 1, deviation)),
          draw_floats(batch * size.columns, 21, 2)};
}

std::vector<std::pair<Size, std::size_t>> cases() {
  std::vector<std::pair<Size, std::size_t>> all;
  for (const Size size : sizes) {
    for (const std::size_t batch : batches) {
      all.emplace_back(size, batch);
    }
  }
  return all;
}

std::vector<float> product(const Matrix& w, std::span<const float> x, std::size_t threads = 1) {
  std::vector<float> y(x.size() / w.columns * w.rows, NAN);
  linear(w, x, y, threads);
  return y;
}

// Four lanes add four times as many numbers in a row as sixteen.
constexpr double narrow_tolerance = 2 * tolerance;

std::size_t check_against_reference(double allowed) {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    for (const auto& [size, batch] : cases()) {
      CAPTURE(name, size.rows, size.columns, batch);
      const Case given = make(format, size, batch);
      std::vector<double> expected(batch * size.rows, NAN);
      linear_reference(given.w.view(), to_doubles(given.x), expected);
      CHECK(max_difference(product(given.w.view(), given.x), expected) <= allowed);
      ++checked;
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("linear by hand, with its reference") {
  const RowStore kept = store(Format::bf16, {3, 2}, std::vector<float>{1, 2, 3, -4, 0, 0.5F});
  const Matrix w = kept.view();
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
    const std::vector<float> ones(columns, 1);
    std::vector<float> x(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      x[c] = static_cast<float>(c + 1);
    }
    const auto expected = static_cast<float>(columns * (columns + 1) / 2);
    CHECK(product(store(Format::bf16, {1, columns}, ones).view(), x) ==
          std::vector<float>{expected});
    ++checked;
  }
  CHECK(checked == 40);
}

TEST_CASE("linear agrees with its reference") {
  CHECK(check_against_reference(tolerance) == 6 * sizes.size() * batches.size());
}

TEST_CASE("linear agrees with its reference on every instruction set") {
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  REQUIRE(targets.size() >= 2);
  for (const std::int64_t target : targets) {
    CAPTURE(hwy::TargetName(target));
    const OnTarget chosen(target);
    CHECK(check_against_reference(narrow_tolerance) == 6 * sizes.size() * batches.size());
  }
}

TEST_CASE("a batch gives each row what the row alone gives, bit for bit") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    for (const auto& [size, batch] : cases()) {
      CAPTURE(name, size.rows, size.columns, batch);
      const Case given = make(format, size, batch);
      std::vector<float> one_by_one;
      for (std::size_t b = 0; b < batch; ++b) {
        const auto row =
            product(given.w.view(), std::span(given.x).subspan(b * size.columns, size.columns));
        one_by_one.insert(one_by_one.end(), row.begin(), row.end());
      }
      CHECK(product(given.w.view(), given.x) == one_by_one);
      ++checked;
    }
  }
  CHECK(checked == 6 * sizes.size() * batches.size());
}

TEST_CASE("threads change no bit of linear") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    for (const std::size_t rows : {1U, 127U, 128U, 129U, 400U}) {
      CAPTURE(name, rows);
      const Case given = make(format, {rows, 70}, 3);
      const std::vector<float> alone = product(given.w.view(), given.x);
      for (const std::size_t threads : {2U, 3U}) {
        CHECK(product(given.w.view(), given.x, threads) == alone);
        ++checked;
      }
    }
  }
  CHECK(checked == 6 * 5 * 2);
}

TEST_CASE("a NaN weight reaches its output and no other") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    for (const std::size_t columns : {1U, 33U, 256U}) {
      CAPTURE(name, columns);
      std::vector<float> values = draw_floats(20 * columns, 22, 1);
      values[13 * columns + columns / 2] = NAN;
      const RowStore w = store(format, {20, columns}, values);
      const std::vector<float> y = product(w.view(), std::vector<float>(2 * columns, 0));
      for (std::size_t i = 0; i < y.size(); ++i) {
        CHECK(std::isnan(y[i]) == (i % 20 == 13));
        ++checked;
      }
    }
  }
  CHECK(checked == 6 * 3 * 40);
}
