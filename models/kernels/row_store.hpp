// Rows of values kept in a number format: the storage of a cache's K or V and of a weight matrix.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/format.hpp"

namespace qfs {

/// A matrix in a format, row-major without gaps; scales has one value per row where the format has
/// scales and is empty where not. Does not own its values.
struct Matrix {
  Format format = Format::bf16;
  std::span<const std::byte> values;
  std::span<const float> scales;
  std::size_t rows = 0;
  std::size_t columns = 0;

  [[nodiscard]] std::span<const std::byte> row_values(std::size_t row) const {
    const std::size_t width = columns * bytes_per_value(format);
    return values.subspan(row * width, width);
  }
  [[nodiscard]] float scale(std::size_t row) const { return scales.empty() ? 1 : scales[row]; }
  /// Row `row` as numbers; out.size() == columns.
  void read(std::size_t row, std::span<float> out) const {
    decode_row(format, row_values(row), scale(row), out);
  }
};

/// `count` rows from `first` on, of the same storage.
Matrix rows_of(const Matrix& matrix, std::size_t first, std::size_t count);

/// Owns such a matrix. Rows are zero until written; room is taken once, so that writing a row moves
/// no other.
class RowStore {
 public:
  RowStore() = default;
  RowStore(Format format, std::size_t rows, std::size_t columns);

  /// Rounds values.size() == columns values to the format.
  void write(std::size_t row, std::span<const float> values);
  /// Takes over a row of a matrix of the same format and columns, bit for bit.
  void copy(std::size_t row, const Matrix& from, std::size_t from_row);
  [[nodiscard]] Matrix view() const { return {format_, values_, scales_, rows_, columns_}; }
  [[nodiscard]] bool empty() const { return rows_ == 0; }
  /// `count` columns from `first` on of every row of a matrix, bit for bit; scales stay those of
  /// the whole rows.
  static RowStore of_columns(const Matrix& from, std::size_t first, std::size_t count);

 private:
  Format format_ = Format::bf16;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::vector<std::byte> values_;
  std::vector<float> scales_;
};

}  // namespace qfs
