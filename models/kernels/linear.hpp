// Matrix products of a few rows with bf16 weights: the projections, the feed-forward, the LM head.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/format.hpp"

namespace qfs {

/// A weight matrix, row-major: one row of `columns` inputs per output. Does not own its values.
struct Matrix {
  std::span<const Bf16> values;
  std::size_t rows = 0;
  std::size_t columns = 0;
  [[nodiscard]] std::span<const Bf16> row(std::size_t r) const {
    return values.subspan(r * columns, columns);
  }
};

/// y[b][r] = sum over c of w[r][c] * x[b][c], accumulated in fp32. Batch = x.size() / w.columns, at
/// least 1; x and y are row-major, y.size() == batch * w.rows. Each weight row is read once for the
/// whole batch.
void linear(const Matrix& w, std::span<const float> x, std::span<float> y);

/// The same in fp64, plainly.
void linear_reference(const Matrix& w, std::span<const double> x, std::span<double> y);

}  // namespace qfs
