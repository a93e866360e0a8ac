// Rows of stored values against a few fp32 vectors: the dot products of a row with each vector, and
// the sum of rows under each vector's weights. Every number is made in an order that depends
// neither on how many rows nor on how many vectors are taken together.
#include "kernels/simd/targets.hpp"

#if defined(QFS_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef QFS_ROWS_INL
#undef QFS_ROWS_INL
#else
#define QFS_ROWS_INL
#endif

#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "kernels/format.hpp"
#include "kernels/simd/formats-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace qfs::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Registers for sums; about as many are left for what is added. Emulated vectors have none.
inline constexpr std::size_t accumulators =
    HWY_TARGET == HWY_EMU128 ? 4 : (HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64 ? 16 : 8);

/// What will be read later: `step` bytes of it for every block read now.
struct Later {
  const std::byte* at;
  std::size_t step;
};

/// Rows of stored values, each `blocks` whole blocks, `pitch` bytes apart. The rows that follow
/// `near` bytes on are not yet in the first cache; 0 if all are.
struct StoredRows {
  const std::byte* at;
  std::size_t pitch;
  std::size_t blocks;
  std::size_t near;
  Later later;
};

// Rows whose products are made together, where so many sums find room.
inline constexpr std::size_t tile_rows = 4;
inline constexpr std::size_t near_bytes = 2048;

// An address that may lie past the end of everything, which a pointer must not.
HWY_INLINE const void* address(const std::byte* from, std::size_t offset) {
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(from) + offset;
  return reinterpret_cast<const void*>(at);  // NOLINT(performance-no-int-to-ptr)
}
HWY_INLINE void prefetch_near(const std::byte* from, std::size_t offset) {
  __builtin_prefetch(address(from, offset), 0, 3);
}
HWY_INLINE void prefetch_far(const std::byte* from, std::size_t offset) {
  __builtin_prefetch(address(from, offset), 0, 2);
}

/// Calls memory ahead of its use, in two hops. Far ahead into the second cache, line after line in
/// ascending order whatever the order of use, so that the hardware's own prefetcher joins in; from
/// there, some rows ahead, into the first. One hop alone leaves either no line buffer for the loads
/// or no room in the first cache. May run past the end of everything: addresses, never an access.
class Prefetcher {
 public:
  explicit Prefetcher(const StoredRows& rows)
      : later_(rows.later.at), step_(rows.later.step), near_(rows.near) {}

  /// Once for every block read, which is at `now`.
  HWY_INLINE void step(const std::byte* now) {
    prefetch_far(later_, offset_);
    prefetch_near(now, near_);
    offset_ += step_;
  }

 private:
  const std::byte* later_;
  std::size_t offset_ = 0;
  std::size_t step_;
  std::size_t near_;
};

/// The far hop alone, for work between rows: it keeps the memory busy there.
class FarLines {
 public:
  explicit FarLines(const std::byte* from) : from_(from) {}
  HWY_INLINE void step(std::size_t lines) {
    constexpr std::size_t line = 64;
    for (std::size_t i = 0; i < lines; ++i, offset_ += line) {
      prefetch_far(from_, offset_);
    }
  }

 private:
  const std::byte* from_;
  std::size_t offset_ = 0;
};

/// The sums over the lanes of each of Count vectors, a power of two: vector i's in lane i % lanes
/// of vectors[i / lanes]. Neighbours are added, then neighbours of those, whatever Count is.
template <std::size_t Count, std::size_t Width = 1>
HWY_INLINE void sum_lanes(Vector* vectors) {
  if constexpr (Width < lanes) {
    constexpr std::size_t pairs = std::max<std::size_t>(Count / 2, 1);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < pairs; ++i) {
      const Vector low = vectors[2 * i % Count];
      const Vector high = vectors[(2 * i + 1) % Count];
      vectors[i] = hn::Add(hn::ConcatEven(Floats(), high, low), hn::ConcatOdd(Floats(), high, low));
    }
    sum_lanes<pairs, Width * 2>(vectors);
  }
}

/// fp32 rows, `pitch` values apart.
template <class Value>
struct FloatRows {
  Value* at;
  std::size_t pitch;
  [[nodiscard]] Value* row(std::size_t i) const { return at + i * pitch; }
};

/// out[v][row + r] = row r . vector v, for Rows rows and Vectors vectors; writes up to a vector
/// beyond.
template <Format F, std::size_t Rows, std::size_t Vectors>
HWY_INLINE void dot_tile(const StoredRows& rows, std::size_t row, FloatRows<const float> vectors,
                         FloatRows<float> out, Prefetcher& ahead) {
  using Pack = Packed<F>;
  Vector sums[Vectors * Rows];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < Vectors * Rows; ++i) {
    sums[i] = hn::Zero(Floats());
  }
  for (std::size_t block = 0; block < rows.blocks; ++block) {
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
      const std::byte* now = rows.at + (row + r) * rows.pitch + block * block_bytes;
      ahead.step(now);
      Vector numbers[Pack::parts];
      Pack::unpack(now, numbers);
#pragma GCC unroll 16
      for (std::size_t v = 0; v < Vectors; ++v) {
#pragma GCC unroll 16
        for (std::size_t part = 0; part < Pack::parts; ++part) {
          const float* from = vectors.row(v) + (block * Pack::parts + part) * lanes;
          sums[v * Rows + r] =
              hn::MulAdd(numbers[part], hn::Load(Floats(), from), sums[v * Rows + r]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (std::size_t v = 0; v < Vectors; ++v) {
    sum_lanes<Rows>(sums + v * Rows);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < Rows; i += lanes) {
      hn::StoreU(sums[v * Rows + i / lanes], Floats(), out.row(v) + row + i);
    }
  }
}

template <Format F, std::size_t Vectors>
HWY_INLINE void dot_rows(const StoredRows& rows, std::size_t count, FloatRows<const float> vectors,
                         FloatRows<float> out) {
  constexpr std::size_t tile = std::min<std::size_t>(accumulators / Vectors, tile_rows);
  Prefetcher ahead(rows);
  std::size_t row = 0;
  for (; row + tile <= count; row += tile) {
    dot_tile<F, tile, Vectors>(rows, row, vectors, out, ahead);
  }
  for (; row < count; ++row) {
    dot_tile<F, 1, Vectors>(rows, row, vectors, out, ahead);
  }
}

/// Calls `take` with the number of vectors, 4, 2 or 1 as a constant, and the first of them, until
/// all `count` are taken. What lies ahead is called into the cache by the first call only.
template <class Take>
HWY_INLINE void for_each_tile(StoredRows rows, std::size_t count, Take take) {
  std::size_t first = 0;
  for (; first + 4 <= count; first += 4) {
    take(std::integral_constant<std::size_t, 4>(), rows, first);
    rows.later = {rows.at, 0};
  }
  if (count - first >= 2) {
    take(std::integral_constant<std::size_t, 2>(), rows, first);
    rows.later = {rows.at, 0};
    first += 2;
  }
  if (first < count) {
    take(std::integral_constant<std::size_t, 1>(), rows, first);
  }
}

/// out[v][t] = number row t . vector v for t < count and v < vector_count. Vectors are packed and
/// aligned; rows of `out` have room for a vector more.
template <Format F>
HWY_INLINE void dots(const StoredRows& rows, std::size_t count, FloatRows<const float> vectors,
                     std::size_t vector_count, FloatRows<float> out) {
  for_each_tile(rows, vector_count,
                [&](auto taken, const StoredRows& from, std::size_t first) HWY_ATTR {
                  dot_rows<F, taken()>(from, count, {vectors.row(first), vectors.pitch},
                                       {out.row(first), out.pitch});
                });
}

/// sums[v] += sum over the rows of weights[v][t] * number row t, in `Blocks` blocks from `first`
/// on.
template <Format F, std::size_t Blocks, std::size_t Vectors>
HWY_INLINE void add_tile(const StoredRows& rows, std::size_t count, std::size_t first,
                         FloatRows<const float> weights, FloatRows<float> sums, Prefetcher& ahead) {
  using Pack = Packed<F>;
  constexpr std::size_t width = Blocks * Pack::parts;
  Vector added[Vectors * width];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < Vectors * width; ++i) {
    added[i] = hn::Zero(Floats());
  }
  for (std::size_t t = 0; t < count; ++t) {
#pragma GCC unroll 16
    for (std::size_t block = 0; block < Blocks; ++block) {
      const std::byte* now = rows.at + t * rows.pitch + (first + block) * block_bytes;
      ahead.step(now);
      Vector numbers[Pack::parts];
      Pack::unpack(now, numbers);
#pragma GCC unroll 16
      for (std::size_t v = 0; v < Vectors; ++v) {
        const Vector weight = hn::Set(Floats(), weights.row(v)[t]);
#pragma GCC unroll 16
        for (std::size_t part = 0; part < Pack::parts; ++part) {
          Vector& sum = added[v * width + block * Pack::parts + part];
          sum = hn::MulAdd(numbers[part], weight, sum);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (std::size_t v = 0; v < Vectors; ++v) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < width; ++i) {
      float* sum = sums.row(v) + (first * Pack::parts + i) * lanes;
      hn::Store(hn::Add(hn::Load(Floats(), sum), added[v * width + i]), Floats(), sum);
    }
  }
}

/// All blocks from `first` on, `Blocks` at a time while there are so many.
template <Format F, std::size_t Vectors, std::size_t Blocks>
HWY_INLINE void add_blocks(const StoredRows& rows, std::size_t count, std::size_t first,
                           FloatRows<const float> weights, FloatRows<float> sums,
                           Prefetcher& ahead) {
  for (; first + Blocks <= rows.blocks; first += Blocks) {
    add_tile<F, Blocks, Vectors>(rows, count, first, weights, sums, ahead);
  }
  if constexpr (Blocks > 1) {
    add_blocks<F, Vectors, Blocks / 2>(rows, count, first, weights, sums, ahead);
  }
}

/// sums[v] += sum over t < count of weights[v][t] * number row t, v < vector_count; sums are packed
/// and aligned.
template <Format F>
HWY_INLINE void add_rows(const StoredRows& rows, std::size_t count, FloatRows<const float> weights,
                         std::size_t vector_count, FloatRows<float> sums) {
  for_each_tile(rows, vector_count,
                [&](auto taken, const StoredRows& from, std::size_t first) HWY_ATTR {
                  Prefetcher ahead(from);
                  constexpr std::size_t room = accumulators / (Packed<F>::parts * taken());
                  add_blocks<F, taken(), std::clamp<std::size_t>(room, 1, 4)>(
                      from, count, 0, {weights.row(first), weights.pitch},
                      {sums.row(first), sums.pitch}, ahead);
                });
}

/// Values in a block of stored bytes.
template <Format F>
inline constexpr std::size_t block_values = block_bytes / bytes_per_value(F);

template <Format F>
constexpr std::size_t blocks_of(std::size_t values) {
  return (values + block_values<F> - 1) / block_values<F>;
}

/// Elements of a packed vector of `values` values.
template <Format F>
constexpr std::size_t packed_width(std::size_t values) {
  return blocks_of<F>(values) * block_values<F>;
}

/// The place of packed element i in the plain vector; past its end where the block is not full.
template <Format F>
constexpr std::size_t plain_place(std::size_t i) {
  const std::size_t in_block = i % block_values<F>;
  const std::size_t block = i - in_block;
  return block + Packed<F>::place(in_block / lanes, in_block % lanes);
}

/// `packed` has room for packed_width(plain.size()); what is not of `plain` is zero.
template <Format F>
void pack(std::span<const float> plain, float* packed) {
  for (std::size_t i = 0; i < packed_width<F>(plain.size()); ++i) {
    const std::size_t place = plain_place<F>(i);
    packed[i] = place < plain.size() ? plain[place] : 0;
  }
}

/// Times `scale`, then divided by `divisor`.
template <Format F>
void unpack(const float* packed, float scale, float divisor, std::span<float> plain) {
  for (std::size_t i = 0; i < packed_width<F>(plain.size()); ++i) {
    const std::size_t place = plain_place<F>(i);
    if (place < plain.size()) {
      plain[place] = packed[i] * scale / divisor;
    }
  }
}

/// Whether rows of `values` values are whole blocks, which are used where they lie.
template <Format F>
constexpr bool used_in_place(std::size_t values) {
  return values % block_values<F> == 0;
}

/// Bytes of a row copied to where it is whole blocks.
template <Format F>
constexpr std::size_t copied_pitch(std::size_t values) {
  return packed_width<F>(values) * bytes_per_value(F);
}

/// `count` rows of `values` values from `at` on, ready for use: in place or, where that cannot be,
/// in `room`, which is aligned, holds as many copied rows and is zero past each. The rows `later`
/// rows on are called ahead.
template <Format F>
StoredRows ready(const std::byte* at, std::size_t values, std::size_t count, std::size_t later,
                 std::byte* room) {
  const std::size_t width = values * bytes_per_value(F);
  if (used_in_place<F>(values)) {
    // Within a long row; of short ones, past those that are read together.
    const std::size_t rows = std::max<std::size_t>(near_bytes / width, tile_rows);
    const std::size_t near = width >= near_bytes ? near_bytes : rows * width;
    return {at, width, blocks_of<F>(values), near, {at + later * width, block_bytes}};
  }
  const std::size_t pitch = copied_pitch<F>(values);
  for (std::size_t t = 0; t < count; ++t) {
    std::memcpy(room + t * pitch, at + t * width, width);
  }
  return {room, pitch, pitch / block_bytes, 0, {room, 0}};
}

}  // namespace qfs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
