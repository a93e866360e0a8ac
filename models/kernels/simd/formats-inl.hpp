// Stored values to vectors of fp32, in registers. A block is one vector of stored bytes: `parts`
// vectors of numbers, in an order that is the cheapest to unpack. Vectors that meet stored values
// (queries, outputs) are kept in the same order, so nothing is ever put back but a result.
#include "kernels/simd/targets.hpp"

#if defined(QFS_FORMATS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef QFS_FORMATS_INL
#undef QFS_FORMATS_INL
#else
#define QFS_FORMATS_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/format.hpp"

HWY_BEFORE_NAMESPACE();
namespace qfs::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Bits32 = hn::RebindToUnsigned<Floats>;
using Bits16 = hn::Repartition<std::uint16_t, Floats>;
using Signed16 = hn::RebindToSigned<Bits16>;
using Bytes = hn::Repartition<std::uint8_t, Floats>;
using Vector = hn::Vec<Floats>;
using HalfBits16 = hn::Half<Bits16>;

inline constexpr std::size_t lanes = hn::MaxLanes(Floats());
inline constexpr std::size_t block_bytes = lanes * sizeof(float);

HWY_INLINE hn::Vec<Bytes> load_bytes(const std::byte* from) {
  return hn::LoadU(Bytes(), reinterpret_cast<const std::uint8_t*>(from));
}

/// fp16 to fp32, exact; infinities and NaNs stay what they are.
HWY_INLINE Vector widen(hn::Vec<HalfBits16> half) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
  return hn::PromoteTo(Floats(), hn::BitCast(hn::Rebind<hwy::float16_t, Floats>(), half));
#else
  const auto wide = hn::PromoteTo(Bits32(), half);
  const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(Bits32(), 0x8000U)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(wide, hn::Set(Bits32(), 0x7FFFU)));
  const auto finite =
      hn::BitCast(Bits32(), hn::Mul(hn::BitCast(Floats(), magnitude), hn::Set(Floats(), 0x1p112F)));
  const auto top = hn::Set(Bits32(), 0x0F800000U);  // the exponent of infinities and NaNs
  const auto special = hn::VecFromMask(Bits32(), hn::Eq(hn::And(magnitude, top), top));
  const auto exponent = hn::And(special, hn::Set(Bits32(), 0x7F800000U));
  return hn::BitCast(Floats(), hn::Or(hn::Or(finite, exponent), sign));
#endif
}

/// How a block of a format is unpacked. `place(part, lane)` is the place in the block of the value
/// that `unpack` leaves in that lane of that part.
template <Format>
struct Packed;

template <>
struct Packed<Format::fp32> {
  static constexpr std::size_t parts = 1;
  static constexpr std::size_t place(std::size_t /*part*/, std::size_t lane) { return lane; }
  static HWY_INLINE void unpack(const std::byte* from, Vector* to) {
    to[0] = hn::BitCast(Floats(), load_bytes(from));
  }
};

template <>
struct Packed<Format::fp16> {
  static constexpr std::size_t parts = 2;
  static constexpr std::size_t place(std::size_t part, std::size_t lane) {
    return part * lanes + lane;
  }
  static HWY_INLINE void unpack(const std::byte* from, Vector* to) {
    // Halves from memory: to take them out of a vector would cost as much as to convert them.
    const hn::Repartition<std::uint8_t, HalfBits16> half;
    for (std::size_t part = 0; part < parts; ++part) {
      const auto* at = reinterpret_cast<const std::uint8_t*>(from + part * block_bytes / 2);
      to[part] = widen(hn::BitCast(HalfBits16(), hn::LoadU(half, at)));
    }
  }
};

template <>
struct Packed<Format::bf16> {
  static constexpr std::size_t parts = 2;
  static constexpr std::size_t place(std::size_t part, std::size_t lane) { return 2 * lane + part; }
  static HWY_INLINE void unpack(const std::byte* from, Vector* to) {
    const auto pairs = hn::BitCast(Bits32(), load_bytes(from));
    to[0] = hn::BitCast(Floats(), hn::ShiftLeft<16>(pairs));
    to[1] = hn::BitCast(Floats(), hn::And(pairs, hn::Set(Bits32(), 0xFFFF0000U)));
  }
};

template <>
struct Packed<Format::int8> {
  static constexpr std::size_t parts = 4;
  static constexpr std::size_t place(std::size_t part, std::size_t lane) {
    return part * lanes + lane;
  }
  static HWY_INLINE void unpack(const std::byte* from, Vector* to) {
    const hn::Rebind<std::int8_t, Floats> codes;
    const hn::RebindToSigned<Floats> integers;
    for (std::size_t part = 0; part < parts; ++part) {
      const auto* quarter = reinterpret_cast<const std::int8_t*>(from + part * lanes);
      to[part] = hn::ConvertTo(Floats(), hn::PromoteTo(integers, hn::LoadU(codes, quarter)));
    }
  }
};

// The 8-bit floats go by way of fp16. Not by fp32's exponent, where their subnormal codes would be
// subnormal too, and a product with a subnormal number takes 200 times as long.

/// What 1 is once unpacked: E4M3 is left 2^8 times too small.
template <Format F>
inline constexpr float unit = F == Format::fp8_e4m3 ? 256 : 1;

/// The high byte of each pair to fp16; E4M3's NaN to a NaN.
template <Format F>
HWY_INLINE hn::Vec<Bits16> high_to_fp16(hn::Vec<Bits16> pairs) {
  if constexpr (F == Format::fp8_e5m2) {
    return hn::And(pairs, hn::Set(Bits16(), std::uint16_t{0xFF00}));
  } else {
    const auto moved = hn::BitCast(Bits16(), hn::ShiftRight<1>(hn::BitCast(Signed16(), pairs)));
    const auto number = hn::And(moved, hn::Set(Bits16(), std::uint16_t{0xBF80}));
    // One more than the NaN's magnitude carries into the exponent's top bit, which makes a NaN.
    const auto carried = hn::Add(number, hn::Set(Bits16(), std::uint16_t{0x0080}));
    return hn::OrAnd(number, carried, hn::Set(Bits16(), std::uint16_t{0x4000}));
  }
}

/// Parts: the lower and upper half of the even bytes, then of the odd ones.
template <Format F>
struct PackedFp8 {
  static constexpr std::size_t parts = 4;
  static constexpr std::size_t place(std::size_t part, std::size_t lane) {
    return 2 * (part % 2 * lanes + lane) + part / 2;
  }
  static HWY_INLINE void unpack(const std::byte* from, Vector* to) {
    const auto pairs = hn::BitCast(Bits16(), load_bytes(from));
    const auto even = high_to_fp16<F>(hn::ShiftLeft<8>(pairs));
    const auto odd = high_to_fp16<F>(pairs);
    to[0] = widen(hn::LowerHalf(HalfBits16(), even));
    to[1] = widen(hn::UpperHalf(HalfBits16(), even));
    to[2] = widen(hn::LowerHalf(HalfBits16(), odd));
    to[3] = widen(hn::UpperHalf(HalfBits16(), odd));
  }
};

template <>
struct Packed<Format::fp8_e4m3> : PackedFp8<Format::fp8_e4m3> {};
template <>
struct Packed<Format::fp8_e5m2> : PackedFp8<Format::fp8_e5m2> {};

}  // namespace qfs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
