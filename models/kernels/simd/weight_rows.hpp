// The vector kernel of `linear`: some rows of a weight matrix, one thread.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <span>

#include "kernels/row_store.hpp"

namespace qfs {

/// The rows of x in the order in which stored rows of a format are unpacked.
class PackedRows {
 public:
  /// x.size() is a multiple of `columns`.
  PackedRows(Format format, std::span<const float> x, std::size_t columns);

  [[nodiscard]] const float* data() const { return values_.get(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t width() const { return width_; }

 private:
  std::size_t count_;
  std::size_t width_;  // of a row, in values
  hwy::AlignedFreeUniquePtr<float[]> values_;
};

/// y[b * w.rows + r] = row r . x_b for `count` rows from `first` on; x is packed for w.format.
void weight_rows(const Matrix& w, std::size_t first, std::size_t count, const PackedRows& x,
                 std::span<float> y);

}  // namespace qfs
