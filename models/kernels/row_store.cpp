#include "kernels/row_store.hpp"

#include <algorithm>
#include <cassert>

namespace qfs {

RowStore::RowStore(Format format, std::size_t rows, std::size_t columns)
    : format_(format),
      rows_(rows),
      columns_(columns),
      values_(rows * columns * bytes_per_value(format)),
      scales_(has_scales(format) ? rows : 0) {}

void RowStore::write(std::size_t row, std::span<const float> values) {
  assert(row < rows_ && values.size() == columns_);
  const std::size_t width = columns_ * bytes_per_value(format_);
  const float scale = encode_row(format_, values, std::span(values_).subspan(row * width, width));
  if (has_scales(format_)) {
    scales_[row] = scale;
  }
}

void RowStore::copy(std::size_t row, const Matrix& from, std::size_t from_row) {
  assert(row < rows_ && from_row < from.rows && from.format == format_ && from.columns == columns_);
  const std::span<const std::byte> values = from.row_values(from_row);
  std::ranges::copy(values, values_.begin() + static_cast<std::ptrdiff_t>(row * values.size()));
  if (has_scales(format_)) {
    scales_[row] = from.scale(from_row);
  }
}

RowStore RowStore::of_columns(const Matrix& from, std::size_t first, std::size_t count) {
  assert(first + count <= from.columns);
  RowStore part(from.format, from.rows, count);
  const std::size_t value = bytes_per_value(from.format);
  for (std::size_t row = 0; row < from.rows; ++row) {
    const std::span<const std::byte> kept =
        from.row_values(row).subspan(first * value, count * value);
    std::copy(kept.begin(), kept.end(),
              part.values_.begin() + static_cast<std::ptrdiff_t>(row * count * value));
  }
  part.scales_.assign(from.scales.begin(), from.scales.end());
  return part;
}

Matrix rows_of(const Matrix& matrix, std::size_t first, std::size_t count) {
  assert(first + count <= matrix.rows);
  const std::size_t width = matrix.columns * bytes_per_value(matrix.format);
  const auto scales = matrix.scales.empty() ? matrix.scales : matrix.scales.subspan(first, count);
  return {matrix.format, matrix.values.subspan(first * width, count * width), scales, count,
          matrix.columns};
}

}  // namespace qfs
