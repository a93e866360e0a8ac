// Matrix products of a few rows with stored weights: the projections, the feed-forward, the LM
// head.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/row_store.hpp"

namespace qfs {

/// y[b][r] = sum over c of w[r][c] * x[b][c], accumulated in fp32. One row of w per output. Batch =
/// x.size() / w.columns, at least 1; x and y are row-major, y.size() == batch * w.rows. Each weight
/// row is read once for the whole batch. The rows are shared out among `threads`, at least 1, which
/// changes no result.
void linear(const Matrix& w, std::span<const float> x, std::span<float> y, std::size_t threads = 1);

/// The same in fp64, plainly.
void linear_reference(const Matrix& w, std::span<const double> x, std::span<double> y);

}  // namespace qfs
