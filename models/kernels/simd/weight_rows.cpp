#include "kernels/simd/weight_rows.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/weight_rows.cpp"
#include "kernels/simd/targets.hpp"
//
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "kernels/simd/rows-inl.hpp"
#include "kernels/simd/with_format.hpp"

HWY_BEFORE_NAMESPACE();
namespace qfs::HWY_NAMESPACE {

// Rows whose products are put away together.
constexpr std::size_t taken_rows = 8;
constexpr std::size_t products_pitch = taken_rows + lanes;

template <Format F>
void all_rows(const Matrix& w, std::size_t first, std::size_t count, const PackedRows& x,
              std::span<float> y) {
  const std::size_t width = w.columns * bytes_per_value(F);
  const std::size_t room_bytes = taken_rows * copied_pitch<F>(w.columns);
  const auto room = hwy::AllocateAligned<std::byte>(room_bytes);
  std::fill_n(room.get(), room_bytes, std::byte{0});
  const auto products = hwy::AllocateAligned<float>(x.count() * products_pitch);
  const FloatRows<float> out{products.get(), products_pitch};
  for (std::size_t r = first; r < first + count; r += taken_rows) {
    const std::size_t taken = std::min(taken_rows, first + count - r);
    const std::byte* at = w.values.data() + r * width;
    const StoredRows rows = ready<F>(at, w.columns, taken, taken, room.get());
    dots<F>(rows, taken, {x.data(), x.width()}, x.count(), out);
    for (std::size_t b = 0; b < x.count(); ++b) {
      for (std::size_t i = 0; i < taken; ++i) {
        y[b * w.rows + r + i] = out.row(b)[i] * (unit<F> * w.scale(r + i));
      }
    }
  }
}

void rows_of_any(const Matrix& w, std::size_t first, std::size_t count, const PackedRows& x,
                 std::span<float> y) {
  with_format(w.format, [&](auto format) { all_rows<format()>(w, first, count, x, y); });
}

std::size_t width_for_any(Format of, std::size_t columns) {
  std::size_t width = 0;
  with_format(of, [&](auto format) { width = packed_width<format()>(columns); });
  return width;
}

void pack_any(Format of, std::span<const float> plain, float* packed) {
  with_format(of, [&](auto format) { pack<format()>(plain, packed); });
}

}  // namespace qfs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qfs {

HWY_EXPORT(rows_of_any);
HWY_EXPORT(width_for_any);
HWY_EXPORT(pack_any);

PackedRows::PackedRows(Format format, std::span<const float> x, std::size_t columns)
    : count_(x.size() / columns),
      width_(HWY_DYNAMIC_DISPATCH(width_for_any)(format, columns)),
      values_(hwy::AllocateAligned<float>(count_ * width_)) {
  for (std::size_t b = 0; b < count_; ++b) {
    HWY_DYNAMIC_DISPATCH(pack_any)
    (format, x.subspan(b * columns, columns), values_.get() + b * width_);
  }
}

void weight_rows(const Matrix& w, std::size_t first, std::size_t count, const PackedRows& x,
                 std::span<float> y) {
  HWY_DYNAMIC_DISPATCH(rows_of_any)(w, first, count, x, y);
}

}  // namespace qfs
#endif
