#include "kernels/linear.hpp"

#include <cassert>

#include "kernels/dot.hpp"

namespace qfs {
namespace {

template <class Value>
std::size_t batch_of(const Matrix& w, std::span<const Value> x, std::span<Value> y) {
  assert(w.rows >= 1 && w.columns >= 1 && w.values.size() == w.rows * w.columns);
  assert(x.size() >= w.columns && x.size() % w.columns == 0);
  const std::size_t batch = x.size() / w.columns;
  assert(y.size() == batch * w.rows);
  static_cast<void>(y);  // read by the asserts only
  return batch;
}

}  // namespace

void linear(const Matrix& w, std::span<const float> x, std::span<float> y) {
  const std::size_t batch = batch_of(w, x, y);
  for (std::size_t r = 0; r < w.rows; ++r) {
    // From its second use on the row comes from the nearest cache.
    const Bf16* row = w.row(r).data();
    std::size_t b = 0;
    for (; b + 2 <= batch; b += 2) {
      const auto pair = dots<2>(row, x.data() + b * w.columns, w.columns, w.columns);
      y[b * w.rows + r] = pair[0];
      y[(b + 1) * w.rows + r] = pair[1];
    }
    if (b < batch) {
      y[b * w.rows + r] = dots<1>(row, x.data() + b * w.columns, w.columns, w.columns)[0];
    }
  }
}

void linear_reference(const Matrix& w, std::span<const double> x, std::span<double> y) {
  const std::size_t batch = batch_of(w, x, y);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t r = 0; r < w.rows; ++r) {
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::size_t c = 0; c < w.columns; ++c) {
        sum += double{to_float(w.values[r * w.columns + c])} * x[b * w.columns + c];
      }
      y[b * w.rows + r] = sum;
    }
  }
}

}  // namespace qfs
