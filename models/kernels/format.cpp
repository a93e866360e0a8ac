#include "kernels/format.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace qfs {
namespace {

/// A float of 1 + exponent + mantissa bits that ranks below fp32; the exponent's bias is the usual
/// 2^(exponent - 1) - 1.
struct Layout {
  std::uint32_t exponent;  // bits
  std::uint32_t mantissa;  // bits
  std::uint32_t largest;   // code of the largest finite magnitude
  std::uint32_t overflow;  // code of what lies beyond it
  std::uint32_t nan;       // code of the NaN
  bool infinities;         // the code after the largest is infinity's
};
constexpr Layout fp16_layout{5, 10, 0x7BFF, 0x7C00, 0x7E00, true};
constexpr Layout e4m3_layout{4, 3, 0x7E, 0x7E, 0x7F, false};
constexpr Layout e5m2_layout{5, 2, 0x7B, 0x7B, 0x7F, true};

constexpr std::uint32_t fp32_mantissa = 23;
constexpr int fp32_bias = 127;

int bias_of(const Layout& layout) { return (1 << (layout.exponent - 1)) - 1; }

/// The code of |value|, which is finite. Rounding may carry into the exponent, as it should.
std::uint32_t magnitude_code(const Layout& layout, float value) {
  // Below the least normal number the spacing no longer shrinks: count it in steps of that spacing.
  const int least_exponent = 1 - bias_of(layout);
  const float least_normal = std::ldexp(1.0F, least_exponent);
  if (value < least_normal) {
    const int step = least_exponent - static_cast<int>(layout.mantissa);
    // Exact, since a power of two only moves the exponent; nearbyint rounds ties to even.
    return static_cast<std::uint32_t>(std::nearbyint(std::ldexp(value, -step)));
  }
  const std::uint32_t dropped = fp32_mantissa - layout.mantissa;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t half = (1U << (dropped - 1)) - 1 + (bits >> dropped & 1U);
  const auto rebias = static_cast<std::uint32_t>(fp32_bias - bias_of(layout)) << layout.mantissa;
  const std::uint32_t code = ((bits + half) >> dropped) - rebias;
  return code > layout.largest ? layout.overflow : code;
}

std::uint32_t narrow(const Layout& layout, float value) {
  const std::uint32_t sign = (std::signbit(value) ? 1U : 0U) << (layout.exponent + layout.mantissa);
  if (std::isnan(value)) {
    return sign | layout.nan;
  }
  return sign | (std::isinf(value) ? layout.overflow : magnitude_code(layout, std::abs(value)));
}

/// Read as an fp32 with too small an exponent, the code is the value times a power of two.
float widen(const Layout& layout, std::uint32_t code) {
  const std::uint32_t sign = code >> (layout.exponent + layout.mantissa) << 31U;
  const std::uint32_t magnitude = code & ((1U << (layout.exponent + layout.mantissa)) - 1);
  if (magnitude > layout.largest) {
    const bool infinite = layout.infinities && magnitude == layout.largest + 1;
    const float beyond =
        infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    return std::copysign(beyond, std::bit_cast<float>(sign));
  }
  const std::uint32_t shift = fp32_mantissa - layout.mantissa;
  const auto scale = static_cast<std::uint32_t>(2 * fp32_bias - bias_of(layout)) << fp32_mantissa;
  return std::bit_cast<float>(sign | magnitude << shift) * std::bit_cast<float>(scale);
}

template <class Stored, class Convert>
void write_row(std::span<const float> row, std::span<std::byte> bytes, Convert convert) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Stored stored = convert(row[i]);
    std::memcpy(bytes.data() + i * sizeof stored, &stored, sizeof stored);
  }
}

template <class Stored, class Convert>
void read_row(std::span<const std::byte> bytes, std::span<float> row, Convert convert) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    row[i] = convert(stored);
  }
}

constexpr auto same = [](float value) { return value; };
constexpr auto widened = [](auto value) { return to_float(value); };

}  // namespace

float to_float(Fp16 value) { return widen(fp16_layout, value.bits); }
float to_float(E4m3 value) { return widen(e4m3_layout, value.bits); }
float to_float(E5m2 value) { return widen(e5m2_layout, value.bits); }

Fp16 to_fp16(float value) { return {static_cast<std::uint16_t>(narrow(fp16_layout, value))}; }
E4m3 to_e4m3(float value) { return {static_cast<std::uint8_t>(narrow(e4m3_layout, value))}; }
E5m2 to_e5m2(float value) { return {static_cast<std::uint8_t>(narrow(e5m2_layout, value))}; }

float int8_scale(std::span<const float> row) {
  float largest = 0;
  for (const float value : row) {
    if (!std::isfinite(value)) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    largest = std::max(largest, std::abs(value));
  }
  const float scale = largest / 127;
  // Rounded up, the scale of the greatest float would read it back as infinity.
  return std::isinf(127 * scale) ? std::nextafter(scale, 0.0F) : scale;
}

std::int8_t to_int8(float value, float scale) {
  if (!(scale > 0)) {
    return 0;
  }
  // The quotient of the largest magnitude may round to just above 127, of a tiny scale to more.
  return static_cast<std::int8_t>(std::clamp(std::nearbyint(value / scale), -127.0F, 127.0F));
}

float encode_row(Format format, std::span<const float> row, std::span<std::byte> bytes) {
  assert(bytes.size() >= row.size() * bytes_per_value(format));
  switch (format) {
    case Format::fp32:
      write_row<float>(row, bytes, same);
      break;
    case Format::fp16:
      write_row<Fp16>(row, bytes, to_fp16);
      break;
    case Format::bf16:
      write_row<Bf16>(row, bytes, to_bf16);
      break;
    case Format::fp8_e4m3:
      write_row<E4m3>(row, bytes, to_e4m3);
      break;
    case Format::fp8_e5m2:
      write_row<E5m2>(row, bytes, to_e5m2);
      break;
    case Format::int8: {
      const float scale = int8_scale(row);
      write_row<std::int8_t>(row, bytes, [scale](float value) { return to_int8(value, scale); });
      return scale;
    }
  }
  return 1;
}

void decode_row(Format format, std::span<const std::byte> bytes, float scale,
                std::span<float> row) {
  assert(bytes.size() >= row.size() * bytes_per_value(format));
  switch (format) {
    case Format::fp32:
      return read_row<float>(bytes, row, same);
    case Format::fp16:
      return read_row<Fp16>(bytes, row, widened);
    case Format::bf16:
      return read_row<Bf16>(bytes, row, widened);
    case Format::fp8_e4m3:
      return read_row<E4m3>(bytes, row, widened);
    case Format::fp8_e5m2:
      return read_row<E5m2>(bytes, row, widened);
    case Format::int8:
      return read_row<std::int8_t>(
          bytes, row, [scale](std::int8_t code) { return static_cast<float>(code) * scale; });
  }
}

void encode(Format format, std::span<const float> values, std::size_t row,
            std::vector<std::byte>& bytes) {
  assert(values.empty() || (row >= 1 && values.size() % row == 0));
  const std::size_t width = row * bytes_per_value(format);
  for (; !values.empty(); values = values.subspan(row)) {
    const std::size_t at = bytes.size();
    bytes.resize(at + row_bytes(format, row));
    const float scale = encode_row(format, values.first(row), std::span(bytes).subspan(at, width));
    if (has_scales(format)) {
      std::memcpy(bytes.data() + at + width, &scale, sizeof scale);
    }
  }
}

std::span<const std::byte> decode(Format format, std::span<const std::byte> bytes, std::size_t row,
                                  std::span<float> values) {
  assert(values.empty() || (row >= 1 && values.size() % row == 0));
  const std::size_t width = row * bytes_per_value(format);
  for (; !values.empty(); values = values.subspan(row)) {
    assert(bytes.size() >= row_bytes(format, row));
    float scale = 1;
    if (has_scales(format)) {
      std::memcpy(&scale, bytes.data() + width, sizeof scale);
    }
    decode_row(format, bytes, scale, values.first(row));
    bytes = bytes.subspan(row_bytes(format, row));
  }
  return bytes;
}

void round_rows(Format format, std::size_t row, std::span<float> values) {
  if (format == Format::fp32) {
    return;
  }
  std::vector<std::byte> bytes;
  encode(format, values, row, bytes);
  decode(format, bytes, row, values);
}

}  // namespace qfs
