#include "kernels/linear.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "kernels/parallel.hpp"
#include "kernels/simd/weight_rows.hpp"

namespace qfs {
namespace {

// What a thread takes at a time.
constexpr std::size_t unit_rows = 128;

template <class Value>
std::size_t batch_of(const Matrix& w, std::span<const Value> x, std::span<Value> y) {
  assert(w.rows >= 1 && w.columns >= 1 &&
         w.values.size() == w.rows * w.columns * bytes_per_value(w.format));
  assert(x.size() >= w.columns && x.size() % w.columns == 0);
  const std::size_t batch = x.size() / w.columns;
  assert(y.size() == batch * w.rows);
  static_cast<void>(y);  // read by the asserts only
  return batch;
}

}  // namespace

void linear(const Matrix& w, std::span<const float> x, std::span<float> y, std::size_t threads) {
  [[maybe_unused]] const std::size_t batch = batch_of(w, x, y);
  assert(!has_scales(w.format) || w.scales.size() == w.rows);
  const PackedRows packed(w.format, x, w.columns);
  for_each_unit((w.rows + unit_rows - 1) / unit_rows, threads, [&](std::size_t unit) {
    const std::size_t first = unit * unit_rows;
    weight_rows(w, first, std::min(unit_rows, w.rows - first), packed, y);
  });
}

void linear_reference(const Matrix& w, std::span<const double> x, std::span<double> y) {
  const std::size_t batch = batch_of(w, x, y);
  std::vector<float> row(w.columns);
  for (std::size_t r = 0; r < w.rows; ++r) {
    w.read(r, row);
    for (std::size_t b = 0; b < batch; ++b) {
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::size_t c = 0; c < w.columns; ++c) {
        sum += double{row[c]} * x[b * w.columns + c];
      }
      y[b * w.rows + r] = sum;
    }
  }
}

}  // namespace qfs
