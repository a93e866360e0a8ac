// A store of rows in every format: what is read is what the format makes of what was written.
#include "kernels/row_store.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr std::array<Format, 6> formats{Format::fp32,     Format::fp16,     Format::bf16,
                                        Format::fp8_e4m3, Format::fp8_e5m2, Format::int8};

struct Image {
  std::vector<std::byte> values;
  std::vector<float> scales;
};

Image image_of(const RowStore& store) {
  const Matrix view = store.view();
  return {{view.values.begin(), view.values.end()}, {view.scales.begin(), view.scales.end()}};
}

std::vector<float> read_row(const RowStore& store, std::size_t row) {
  std::vector<float> values(store.view().columns, NAN);
  store.view().read(row, values);
  return values;
}

std::vector<float> rounded(Format format, std::vector<float> row) {
  round_rows(format, row.size(), row);
  return row;
}

// Nothing outside row `row` differs, and something inside does.
void check_only_row_changed(const Image& before, const Image& after, std::size_t row,
                            std::size_t width) {
  std::size_t inside = 0;
  std::size_t outside = 0;
  for (std::size_t i = 0; i < before.values.size(); ++i) {
    const bool changed = before.values[i] != after.values[i];
    (i / width == row ? inside : outside) += changed ? 1 : 0;
  }
  for (std::size_t r = 0; r < before.scales.size(); ++r) {
    outside += r != row && before.scales[r] != after.scales[r] ? 1 : 0;
  }
  CHECK(inside > 0);
  CHECK(outside == 0);
}

}  // namespace

TEST_CASE("a store reads back what its format makes of each row") {
  std::size_t checked = 0;
  for (const Format format : formats) {
    CAPTURE(name_of(format));
    for (const std::size_t columns : {1U, 2U, 7U, 64U, 129U}) {
      constexpr std::size_t rows = 5;
      RowStore store(format, rows, columns);
      std::vector<std::vector<float>> written(rows);
      // Backwards, since no order is promised.
      for (std::size_t row = rows; row-- > 0;) {
        written[row] = draw_floats(columns, columns, row, std::ldexp(1.0, static_cast<int>(row)));
        store.write(row, written[row]);
      }
      for (std::size_t row = 0; row < rows; ++row) {
        CHECK(read_row(store, row) == rounded(format, written[row]));
        ++checked;
      }
    }
  }
  CHECK(checked == formats.size() * 5 * 5);
}

TEST_CASE("writing a row moves and changes no other") {
  std::size_t checked = 0;
  for (const Format format : formats) {
    CAPTURE(name_of(format));
    constexpr std::size_t rows = 4;
    constexpr std::size_t columns = 9;
    RowStore store(format, rows, columns);
    for (std::size_t row = 0; row < rows; ++row) {
      store.write(row, draw_floats(columns, 94, row));
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const Image before = image_of(store);
      const std::byte* const place = store.view().values.data();
      store.write(row, draw_floats(columns, 95, row, 3));
      CHECK(store.view().values.data() == place);
      check_only_row_changed(before, image_of(store), row, columns * bytes_per_value(format));
      ++checked;
    }
  }
  CHECK(checked == formats.size() * 4);
}

TEST_CASE("a copied row has the bits and the scale of its source, and no other row changes") {
  for (const Format format : formats) {
    CAPTURE(name_of(format));
    constexpr std::size_t columns = 7;
    RowStore from(format, 3, columns);
    RowStore to(format, 4, columns);
    for (std::size_t row = 0; row < 3; ++row) {
      from.write(row, draw_floats(columns, 96, row));
      to.write(row, draw_floats(columns, 97, row, 5));
    }
    const Image before = image_of(to);
    to.copy(1, from.view(), 2);
    CHECK(std::ranges::equal(to.view().row_values(1), from.view().row_values(2)));
    CHECK(to.view().scale(1) == from.view().scale(2));
    check_only_row_changed(before, image_of(to), 1, columns * bytes_per_value(format));
  }
}

TEST_CASE("a store's rows are zero until written, whatever was written before") {
  for (const Format format : formats) {
    RowStore store(format, 3, 5);
    store.write(1, std::vector<float>(5, 2));
    CHECK(read_row(store, 0) == std::vector<float>(5, 0));
    CHECK(read_row(store, 1) == std::vector<float>(5, 2));
    store.write(1, std::vector<float>(5, 0));
    CHECK(read_row(store, 1) == std::vector<float>(5, 0));
  }
}

TEST_CASE("only int8 rows have scales, one each") {
  for (const Format format : formats) {
    CAPTURE(name_of(format));
    RowStore store(format, 3, 2);
    store.write(0, std::vector<float>{127, -1});
    store.write(2, std::vector<float>{-254, 8});
    const Matrix view = store.view();
    CHECK(view.format == format);
    CHECK(view.rows == 3);
    CHECK(view.columns == 2);
    CHECK(view.values.size() == 3 * 2 * bytes_per_value(format));
    CHECK(view.scales.size() == (format == Format::int8 ? 3 : 0));
    const bool scaled = format == Format::int8;
    CHECK(view.scale(0) == 1);
    CHECK(view.scale(1) == (scaled ? 0 : 1));
    CHECK(view.scale(2) == (scaled ? 2 : 1));
    CHECK(view.row_values(2).data() == view.values.data() + 2 * 2 * bytes_per_value(format));
    CHECK(view.row_values(2).size() == 2 * bytes_per_value(format));
  }
}

TEST_CASE("a NaN hides in no format, and spoils no other row") {
  for (const Format format : formats) {
    CAPTURE(name_of(format));
    RowStore store(format, 2, 3);
    store.write(0, std::vector<float>{1, NAN, 2});
    store.write(1, std::vector<float>{1, 0, 2});
    const std::vector<float> spoilt = read_row(store, 0);
    CHECK(std::isnan(spoilt[1]));
    CHECK(std::isnan(spoilt[0]) == (format == Format::int8));
    const std::vector<float> sound = read_row(store, 1);
    CHECK(std::ranges::all_of(sound, [](float value) { return std::isfinite(value); }));
  }
}

TEST_CASE("a store without rows, or without columns") {
  const RowStore none;
  CHECK(none.empty());
  CHECK(none.view().rows == 0);
  CHECK(none.view().values.empty());
  const RowStore no_rows(Format::int8, 0, 8);
  CHECK(no_rows.empty());
  RowStore no_columns(Format::int8, 2, 0);
  CHECK_FALSE(no_columns.empty());
  no_columns.write(1, {});
  CHECK(no_columns.view().values.empty());
  CHECK(no_columns.view().scale(1) == 0);
}
