#include "kernels/format.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/support/catch.hpp"

using namespace qfs;

namespace {

constexpr std::uint32_t codes = 65'536;
constexpr float infinity = std::numeric_limits<float>::infinity();

Bf16 code(std::uint32_t bits) { return {static_cast<std::uint16_t>(bits)}; }

// The value of a code by the definition of the format, sign, exponent and 7 bits of fraction; the
// code of infinity has the value that the next finite one would have.
double value_of(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 7U & 0xFFU);
  const int fraction = static_cast<int>(bits & 0x7FU);
  const double size =
      exponent == 0 ? std::ldexp(fraction, -133) : std::ldexp(128 + fraction, exponent - 134);
  return bits >> 15U != 0 ? -size : size;
}

// Nearest by distance, ties to the even code.
std::uint32_t nearest(double value, std::uint32_t below) {
  const double down = std::abs(value - value_of(below));
  const double up = std::abs(value - value_of(below + 1));
  if (down == up) {
    return below % 2 == 0 ? below : below + 1;
  }
  return down < up ? below : below + 1;
}

}  // namespace

TEST_CASE("every bf16 code survives the round trip") {
  std::uint32_t numbers = 0;
  std::uint32_t nans = 0;
  for (std::uint32_t bits = 0; bits < codes; ++bits) {
    const float value = to_float(code(bits));
    if (std::isnan(value)) {
      ++nans;
      const Bf16 back = to_bf16(value);
      REQUIRE(std::isnan(to_float(back)));
      REQUIRE((back.bits & 0x8040U) == ((bits & 0x8000U) | 0x40U));
    } else {
      ++numbers;
      REQUIRE(to_bf16(value) == code(bits));
    }
  }
  CHECK(numbers == codes - 254);
  CHECK(nans == 254);
}

TEST_CASE("every code has the value of its sign, exponent and fraction") {
  std::uint32_t finite = 0;
  for (std::uint32_t bits = 0; bits < codes; ++bits) {
    if ((bits & 0x7F80U) != 0x7F80U) {
      ++finite;
      REQUIRE(double{to_float(code(bits))} == value_of(bits));
    }
  }
  CHECK(finite == 2 * 255 * 128);
}

TEST_CASE("rounding goes to the nearest code, ties to even") {
  constexpr std::array<std::uint32_t, 7> tails{0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x1234};
  std::uint32_t checked = 0;
  for (std::uint32_t bits = 0; bits < codes; ++bits) {
    if ((bits & 0x7F80U) == 0x7F80U) {
      continue;
    }
    for (const std::uint32_t tail : tails) {
      const auto value = std::bit_cast<float>(bits << 16U | tail);
      ++checked;
      REQUIRE(to_bf16(value) == code(nearest(double{value}, bits)));
    }
  }
  CHECK(checked == 2 * 255 * 128 * tails.size());
}

TEST_CASE("bf16 by hand") {
  static_assert(to_bf16(1.0F) == Bf16{0x3F80});
  CHECK(to_bf16(1 + 0x1p-8F) == Bf16{0x3F80});      // tie, to the even 1
  CHECK(to_bf16(1 + 3 * 0x1p-8F) == Bf16{0x3F82});  // tie, to the even 1 + 2/64
  CHECK(to_bf16(-0.0F) == Bf16{0x8000});
  CHECK(to_bf16(infinity) == Bf16{0x7F80});
  CHECK(to_bf16(-infinity) == Bf16{0xFF80});
  CHECK(to_bf16(std::numeric_limits<float>::max()) == Bf16{0x7F80});
  CHECK(to_bf16(-std::numeric_limits<float>::max()) == Bf16{0xFF80});
  CHECK(to_bf16(0x1.FEp127F) == Bf16{0x7F7F});
  CHECK(rounded(Format::bf16, 3.14159F) == 3.140625F);
  CHECK(rounded(Format::fp32, 3.14159F) == 3.14159F);
}

TEST_CASE("every NaN becomes a quiet one of its sign") {
  for (const std::uint32_t bits :
       {0x7F800001U, 0x7F80FFFFU, 0x7FFFFFFFU, 0xFF800001U, 0xFFC00000U}) {
    const Bf16 narrow = to_bf16(std::bit_cast<float>(bits));
    CHECK(std::isnan(to_float(narrow)));
    CHECK((narrow.bits & 0x40U) != 0);
    CHECK(narrow.bits >> 15U == bits >> 31U);
  }
}

TEST_CASE("encode appends the exact bytes and decode reads them back") {
  using Bytes = std::vector<std::byte>;
  const auto b = [](int value) { return static_cast<std::byte>(value); };
  const std::array<float, 2> values{1.0F, -2.5F};
  Bytes wide{b(7)};
  encode(Format::fp32, values, wide);
  CHECK(wide == Bytes{b(7), b(0), b(0), b(0x80), b(0x3F), b(0), b(0), b(0x20), b(0xC0)});
  Bytes narrow{b(7)};
  encode(Format::bf16, values, narrow);
  CHECK(narrow == Bytes{b(7), b(0x80), b(0x3F), b(0x20), b(0xC0)});

  std::array<float, 2> back{};
  decode(Format::fp32, std::span(wide).subspan(1), back);
  CHECK(back == values);
  back = {};
  decode(Format::bf16, std::span(narrow).subspan(1), back);
  CHECK(back == values);
}

TEST_CASE("nothing encodes to nothing") {
  for (const Format format : {Format::fp32, Format::bf16}) {
    std::vector<std::byte> bytes;
    encode(format, {}, bytes);
    CHECK(bytes.empty());
    decode(format, bytes, {});
  }
  CHECK(bytes_per_value(Format::fp32) == 4);
  CHECK(bytes_per_value(Format::bf16) == 2);
}

TEST_CASE("formats have names") {
  CHECK(name_of(Format::bf16) == "bf16");
  CHECK(value_named<Format>("fp32") == Format::fp32);
  CHECK_FALSE(value_named<Format>("fp64").has_value());
}
