// int8 with the scale of its row, and rows of every format: in memory, on the wire, rounded.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "kernels/format.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();
constexpr float greatest = std::numeric_limits<float>::max();
constexpr double least = 0x1p-149;  // of fp32

constexpr std::array<Format, 6> formats{Format::fp32,     Format::fp16,     Format::bf16,
                                        Format::fp8_e4m3, Format::fp8_e5m2, Format::int8};

// Half a code's step; the quotient and the product each round off up to 127 * 2^-24 steps more.
constexpr double int8_steps = 0.5 + 2 * 127 * 0x1p-24;
// A scale that fp32 cannot hold to full precision is off by half the least number, 127 codes by as
// much each.
constexpr double int8_least = 127 * least / 2;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::vector<int>& values) {
  Bytes bytes;
  for (const int value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

std::vector<float> round_tripped(Format format, std::vector<float> row) {
  Bytes bytes(row.size() * bytes_per_value(format));
  const float scale = encode_row(format, row, bytes);
  decode_row(format, bytes, scale, row);
  return row;
}

bool all_nan(const std::vector<float>& row) {
  return std::ranges::all_of(row, [](float value) { return std::isnan(value); });
}

std::vector<float> drawn_row(std::size_t size, std::uint64_t stream, double deviation) {
  const Random random(93, stream);
  std::vector<float> row(size);
  for (std::size_t i = 0; i < size; ++i) {
    row[i] = static_cast<float>(deviation * random.normal(i));
  }
  return row;
}

// The same bits, which tells NaN from NaN and zero from minus zero.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(
      a, b, {}, [](float x) { return std::bit_cast<std::uint32_t>(x); },
      [](float x) { return std::bit_cast<std::uint32_t>(x); });
}

}  // namespace

TEST_CASE("an int8 code is worth itself times the scale, all 256") {
  std::size_t checked = 0;
  for (const float scale : {1.0F, 0.1F, 3e-42F, 0x1p-149F, 2.6e36F}) {
    for (int code = -128; code <= 127; ++code) {
      const std::array<std::byte, 1> stored{static_cast<std::byte>(code)};
      std::array<float, 1> value{};
      decode_row(Format::int8, stored, scale, value);
      REQUIRE(value[0] == static_cast<float>(double{scale} * code));  // exact in fp64
      if (code != -128) {
        REQUIRE(to_int8(value[0], scale) == code);
      }
      ++checked;
    }
  }
  CHECK(checked == 5 * 256);
}

TEST_CASE("an int8 value goes to the nearest code, in the middle to the even one") {
  std::size_t checked = 0;
  for (const float scale : {1.0F, 0x1p-20F, 0x1p100F}) {
    for (int below = 0; below < 127; ++below) {
      const float tie = (static_cast<float>(below) + 0.5F) * scale;
      const int even = below % 2 == 0 ? below : below + 1;
      for (const float sign : {1.0F, -1.0F}) {
        const int s = sign < 0 ? -1 : 1;
        REQUIRE(to_int8(sign * tie, scale) == s * even);
        REQUIRE(to_int8(sign * std::nextafter(tie, 0.0F), scale) == s * below);
        REQUIRE(to_int8(sign * std::nextafter(tie, infinity), scale) == s * (below + 1));
        ++checked;
      }
    }
    CHECK(to_int8(128 * scale, scale) == 127);
    CHECK(to_int8(-1000 * scale, scale) == -127);
    CHECK(to_int8(infinity, scale) == 127);
  }
  CHECK(checked == 3 * 2 * 127);
  CHECK(to_int8(5, 0) == 0);
  CHECK(to_int8(5, nan_f) == 0);
}

TEST_CASE("the largest magnitude of an int8 row gets the code 127") {
  CHECK(int8_scale(std::vector<float>{1, -254, 3}) == 2);
  CHECK(int8_scale(std::vector<float>{}) == 0);
  CHECK(int8_scale(std::vector<float>{0, -0.0F}) == 0);
  std::size_t checked = 0;
  for (const float size : {1.0F, 3e-36F, 1.9e-30F, 0.3F, 77.7F, 1e38F, greatest}) {
    for (const float value : {size, -size}) {
      const std::vector<float> row{value / 3, value, 0};
      const float scale = int8_scale(row);
      CAPTURE(size, scale);
      CHECK(to_int8(value, scale) == (value < 0 ? -127 : 127));
      CHECK(double{scale} == Approx(double{size} / 127).epsilon(0x1p-23));
      CHECK(std::isfinite(round_tripped(Format::int8, row)[1]));
      ++checked;
    }
  }
  CHECK(checked == 14);
}

TEST_CASE("an int8 row of zeros stays zero, one with an infinity or a NaN reads NaN throughout") {
  CHECK(round_tripped(Format::int8, {0, -0.0F, 0}) == std::vector<float>{0, 0, 0});
  std::size_t checked = 0;
  for (const float bad : {infinity, -infinity, nan_f, -nan_f}) {
    for (std::size_t at = 0; at < 3; ++at) {
      std::vector<float> row{1, 0, -2};
      row[at] = bad;
      CHECK(std::isnan(int8_scale(row)));
      CHECK(all_nan(round_tripped(Format::int8, row)));
      ++checked;
    }
  }
  CHECK(checked == 12);
}

TEST_CASE("an int8 round trip is off by half a step, and the same for both signs") {
  double worst = 0;
  std::size_t checked = 0;
  for (std::uint64_t stream = 0; stream < 300; ++stream) {
    // Sizes over the whole range of fp32, those without full precision too.
    const double deviation = std::ldexp(1.0, static_cast<int>(stream) - 170);
    const std::vector<float> row = drawn_row(65, stream, deviation);
    const double scale = int8_scale(row);
    if (!std::isfinite(scale)) {
      continue;  // a draw beyond fp32
    }
    const std::vector<float> back = round_tripped(Format::int8, row);
    std::vector<float> mirrored = row;
    std::ranges::transform(mirrored, mirrored.begin(), std::negate<>());
    const std::vector<float> mirrored_back = round_tripped(Format::int8, mirrored);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double error = std::abs(double{back[i]} - double{row[i]});
      REQUIRE(error <= int8_steps * scale + int8_least);
      REQUIRE(mirrored_back[i] == -back[i]);
      worst = std::max(worst, scale >= 0x1p-126 ? error / scale : 0);
      ++checked;
    }
  }
  CHECK(worst > 0.499);  // the bound is met, not merely kept
  CHECK(checked >= 290 * 65);
}

TEST_CASE("below its precision an int8 row falls to zero as a whole") {
  const float step = std::numeric_limits<float>::denorm_min();
  CHECK(round_tripped(Format::int8, {63 * step, 5 * step}) == std::vector<float>{0, 0});
  CHECK(round_tripped(Format::int8, {64 * step, 5 * step}) ==
        std::vector<float>{64 * step, 5 * step});
}

TEST_CASE("a row is converted value by value, whatever its size") {
  std::size_t checked = 0;
  for (const Format format : formats) {
    CAPTURE(name_of(format));
    for (const std::size_t size : {0U, 1U, 2U, 3U, 7U, 8U, 9U, 63U, 129U}) {
      std::vector<float> row = drawn_row(size, size, 3);
      Bytes bytes(size * bytes_per_value(format));
      const float scale = encode_row(format, row, bytes);
      CHECK(scale == (format == Format::int8 ? int8_scale(row) : 1));
      std::vector<float> back(size);
      decode_row(format, bytes, scale, back);
      for (float& value : row) {
        if (format == Format::int8) {
          value = static_cast<float>(to_int8(value, scale)) * scale;
        } else {
          value = round_tripped(format, {value})[0];
        }
      }
      CHECK(same_bits(back, row));
      ++checked;
    }
  }
  CHECK(checked == formats.size() * 9);
  const std::vector<float> one{1.5F + 0x1p-3F + 0x1p-7F + 0x1p-11F};
  CHECK(round_tripped(Format::fp16, one) == std::vector<float>{to_float(to_fp16(one[0]))});
  CHECK(round_tripped(Format::bf16, one) == std::vector<float>{to_float(to_bf16(one[0]))});
  CHECK(round_tripped(Format::fp8_e4m3, one) == std::vector<float>{to_float(to_e4m3(one[0]))});
  CHECK(round_tripped(Format::fp8_e5m2, one) == std::vector<float>{to_float(to_e5m2(one[0]))});
}

TEST_CASE("fp32 keeps every bit, of a NaN too") {
  const std::vector<float> row{-0.0F, std::bit_cast<float>(0x7F800001U), 1e-45F, -infinity};
  CHECK(same_bits(round_tripped(Format::fp32, row), row));
  std::vector<float> rounded = row;
  round_rows(Format::fp32, 2, rounded);
  CHECK(same_bits(rounded, row));
}

TEST_CASE("rows travel little endian, an int8 row with its scale behind it") {
  struct Wire {
    Format format;
    std::vector<int> bytes;
  };
  // 127/127 is the scale 1 and 254/127 the scale 2: 0x3F800000 and 0x40000000.
  const std::vector<float> values{1, -127, -254, 2};
  const std::vector<Wire> wires{
      {Format::fp32, {0, 0, 0x80, 0x3F, 0, 0, 0xFE, 0xC2, 0, 0, 0x7E, 0xC3, 0, 0, 0, 0x40}},
      {Format::fp16, {0x00, 0x3C, 0xF0, 0xD7, 0xF0, 0xDB, 0x00, 0x40}},
      {Format::bf16, {0x80, 0x3F, 0xFE, 0xC2, 0x7E, 0xC3, 0x00, 0x40}},
      {Format::fp8_e4m3, {0x38, 0xF0, 0xF8, 0x40}},
      {Format::fp8_e5m2, {0x3C, 0xD8, 0xDC, 0x40}},
      {Format::int8, {1, 0x81, 0, 0, 0x80, 0x3F, 0x81, 1, 0, 0, 0, 0x40}},
  };
  for (const Wire& wire : wires) {
    CAPTURE(name_of(wire.format));
    Bytes bytes{std::byte{7}};
    encode(wire.format, values, 2, bytes);
    Bytes expected = bytes_of(wire.bytes);
    CHECK(expected.size() == 2 * row_bytes(wire.format, 2));
    expected.insert(expected.begin(), std::byte{7});
    CHECK(bytes == expected);

    bytes.push_back(std::byte{9});
    std::vector<float> back(4);
    const auto left = decode(wire.format, std::span(bytes).subspan(1), 2, back);
    CHECK((left.size() == 1 && left[0] == std::byte{9}));
    std::vector<float> rounded = values;
    round_rows(wire.format, 2, rounded);
    CHECK(back == rounded);
  }
  CHECK(wires.size() == formats.size());
}

TEST_CASE("every int8 row has a scale of its own") {
  std::vector<float> values{1, 0.5F, 1000, 500, nan_f, 3};
  round_rows(Format::int8, 2, values);
  CHECK(values[0] == 1);
  CHECK(values[2] == Approx(1000).epsilon(1e-6));
  CHECK(all_nan({values[4], values[5]}));
  std::vector<float> together{1, 0.5F, 1000, 500};
  round_rows(Format::int8, 4, together);
  CHECK(together[0] == 0);
}

TEST_CASE("rounding twice is rounding once") {
  std::size_t checked = 0;
  for (const Format format : formats) {
    CAPTURE(name_of(format));
    for (const std::size_t size : {2U, 5U, 65U}) {
      const std::vector<float> drawn = drawn_row(size, size, 2);
      Bytes bytes(size * bytes_per_value(format));
      const float scale = encode_row(format, drawn, bytes);
      const std::vector<float> once = round_tripped(format, drawn);
      CHECK((once == drawn) == (format == Format::fp32));
      Bytes again(bytes.size());
      // 127 * scale / 127 may miss the scale by a digit of fp32, which moves no code.
      CHECK(double{encode_row(format, once, again)} == Approx(double{scale}).epsilon(0x1p-23));
      CHECK(again == bytes);
      ++checked;
    }
  }
  CHECK(checked == 18);
}

TEST_CASE("nothing encodes to nothing") {
  for (const Format format : formats) {
    Bytes bytes;
    encode(format, {}, 0, bytes);
    encode(format, {}, 4, bytes);
    CHECK(bytes.empty());
    const Bytes two(2);
    CHECK(decode(format, two, 0, {}).size() == 2);
    round_rows(format, 0, {});
  }
}

TEST_CASE("bytes of values and rows") {
  const std::array<std::size_t, 6> sizes{4, 2, 2, 1, 1, 1};
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const std::size_t scale = formats[i] == Format::int8 ? 4 : 0;
    CHECK(bytes_per_value(formats[i]) == sizes[i]);
    CHECK(has_scales(formats[i]) == (scale != 0));
    CHECK(row_bytes(formats[i], 0) == scale);
    CHECK(row_bytes(formats[i], 129) == 129 * sizes[i] + scale);
  }
}

TEST_CASE("formats have names") {
  const std::array<std::string_view, 6> names{"fp32",     "fp16",     "bf16",
                                              "fp8_e4m3", "fp8_e5m2", "int8"};
  for (std::size_t i = 0; i < formats.size(); ++i) {
    CHECK(name_of(formats[i]) == names[i]);
    CHECK(value_named<Format>(names[i]) == formats[i]);
  }
  CHECK_FALSE(value_named<Format>("fp64").has_value());
}
