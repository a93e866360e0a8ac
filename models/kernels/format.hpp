// Number formats of caches, weights and the wire: what a value becomes when it is kept or sent.
// Every conversion rounds to the nearest, ties to even, and keeps the sign of zero (int8 has none).
//
//   format    layout (sign, exponent, mantissa)   largest finite   beyond it        NaN
//   fp32      1, 8, 23                            3.4e38           -                kept
//   fp16      1, 5, 10 (IEEE 754 binary16)        65,504           infinity         quiet NaN
//   bf16      1, 8, 7: the upper half of an fp32  3.39e38          infinity         quiet NaN
//   fp8_e4m3  1, 4, 3; no infinity, NaN = x7F     448              448 (saturates)  NaN
//   fp8_e5m2  1, 5, 2                             57,344           57,344           NaN
//   int8      code times the scale of its row     127 scales       -                the row is NaN
//
// The fp8 pair is that of the OCP 8-bit floating point specification (2023) in its saturating mode:
// infinities saturate too. A row in int8 is scaled so that its largest magnitude gets the code 127;
// a row that holds an infinity or a NaN has a scale of NaN, so that no such value can hide.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/enum_names.hpp"

namespace qfs {

enum class Format { fp32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8 };

template <>
inline constexpr EnumNames<Format, 6> enum_names<Format>{{
    {Format::fp32, "fp32"},
    {Format::fp16, "fp16"},
    {Format::bf16, "bf16"},
    {Format::fp8_e4m3, "fp8_e4m3"},
    {Format::fp8_e5m2, "fp8_e5m2"},
    {Format::int8, "int8"},
}};

/// Bytes of a value; an int8 row's scale comes on top.
constexpr std::size_t bytes_per_value(Format format) {
  switch (format) {
    case Format::fp32:
      return 4;
    case Format::fp16:
    case Format::bf16:
      return 2;
    case Format::fp8_e4m3:
    case Format::fp8_e5m2:
    case Format::int8:
      break;
  }
  return 1;
}

constexpr bool has_scales(Format format) { return format == Format::int8; }

/// Bytes of a row of `values` values, with its scale (fp32) where the format has one.
constexpr std::size_t row_bytes(Format format, std::size_t values) {
  return values * bytes_per_value(format) + (has_scales(format) ? sizeof(float) : 0);
}

struct Fp16 {
  std::uint16_t bits = 0;
  bool operator==(const Fp16&) const = default;
};
struct Bf16 {
  std::uint16_t bits = 0;
  bool operator==(const Bf16&) const = default;
};
struct E4m3 {
  std::uint8_t bits = 0;
  bool operator==(const E4m3&) const = default;
};
struct E5m2 {
  std::uint8_t bits = 0;
  bool operator==(const E5m2&) const = default;
};

constexpr float to_float(Bf16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16U);
}
float to_float(Fp16 value);
float to_float(E4m3 value);
float to_float(E5m2 value);

constexpr Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return {static_cast<std::uint16_t>(bits >> 16U | 0x0040U)};
  }
  const std::uint32_t round = 0x7FFFU + (bits >> 16U & 1U);
  return {static_cast<std::uint16_t>((bits + round) >> 16U)};
}
Fp16 to_fp16(float value);
E4m3 to_e4m3(float value);
E5m2 to_e5m2(float value);

/// The scale of a row in int8: its largest magnitude / 127; 0 for a row of zeros.
float int8_scale(std::span<const float> row);
/// The code of a value under its row's scale, in [-127, 127]; 0 where the scale is 0 or NaN.
std::int8_t to_int8(float value, float scale);

/// Writes a row in `format` to `bytes` (row.size() * bytes_per_value(format) of them) and returns
/// its scale, 1 in formats that have none.
float encode_row(Format format, std::span<const float> row, std::span<std::byte> bytes);
/// The reverse; `bytes` holds at least as many values as `row`.
void decode_row(Format format, std::span<const std::byte> bytes, float scale, std::span<float> row);

/// Appends `values` to `bytes` as they travel, little endian: row after row of `row` values, each
/// followed by its scale where the format has one. values.size() is a multiple of `row`, or 0.
void encode(Format format, std::span<const float> values, std::size_t row,
            std::vector<std::byte>& bytes);
/// Reads values.size() values, laid out so, off the front of `bytes`; returns what is left.
std::span<const std::byte> decode(Format format, std::span<const std::byte> bytes, std::size_t row,
                                  std::span<float> values);

/// The values after a round trip through the format, in rows of `row`.
void round_rows(Format format, std::size_t row, std::span<float> values);

}  // namespace qfs
