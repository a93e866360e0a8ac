// Number formats of storage and wire: what a value becomes when it is kept or sent.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/enum_names.hpp"

namespace qfs {

enum class Format { fp32, bf16 };

template <>
inline constexpr EnumNames<Format, 2> enum_names<Format>{{
    {Format::fp32, "fp32"},
    {Format::bf16, "bf16"},
}};

constexpr std::size_t bytes_per_value(Format format) { return format == Format::fp32 ? 4 : 2; }

/// bfloat16: the upper half of an fp32.
struct Bf16 {
  std::uint16_t bits = 0;
  bool operator==(const Bf16&) const = default;
};

constexpr float to_float(Bf16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16U);
}
constexpr float to_float(float value) { return value; }

/// Nearest even; overflow gives infinity; any NaN becomes a quiet NaN of the same sign.
constexpr Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return {static_cast<std::uint16_t>(bits >> 16U | 0x0040U)};
  }
  const std::uint32_t round = 0x7FFFU + (bits >> 16U & 1U);
  return {static_cast<std::uint16_t>((bits + round) >> 16U)};
}

/// The value after a round trip through the format.
constexpr float rounded(Format format, float value) {
  return format == Format::fp32 ? value : to_float(to_bf16(value));
}

/// Appends the values to `bytes` as the format lays them out (little endian).
void encode(Format format, std::span<const float> values, std::vector<std::byte>& bytes);
/// Reads values.size() values from the front of `bytes`; needs bytes.size() >= values.size() *
/// bytes_per_value(format).
void decode(Format format, std::span<const std::byte> bytes, std::span<float> values);

}  // namespace qfs
