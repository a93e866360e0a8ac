// Every code of the float formats against values built here from the formats' definitions, and
// every boundary between two codes against exact midpoints. int8 and rows: format_rows.cpp.
#include "kernels/format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t draws = 1'000'000;

/// A format as its definition lays it out: IEEE 754 for fp16, the upper half of its binary32 for
/// bf16, the OCP 8-bit floating point specification for the fp8 pair.
struct Layout {
  Format format;
  std::uint32_t exponent_bits;
  std::uint32_t fraction_bits;
  int bias;
  std::uint32_t largest;   // magnitude code of the largest finite number
  std::uint32_t infinity;  // magnitude code; 0 where the format has none
  std::uint32_t beyond;    // what rounding past the largest gives

  [[nodiscard]] std::uint32_t sign() const { return 1U << (exponent_bits + fraction_bits); }
  [[nodiscard]] std::uint32_t codes() const { return 2 * sign(); }
  [[nodiscard]] std::uint32_t magnitude(std::uint32_t code) const { return code & (sign() - 1); }
};

constexpr std::array<Layout, 4> layouts{{{Format::fp16, 5, 10, 15, 0x7BFF, 0x7C00, 0x7C00},
                                         {Format::bf16, 8, 7, 127, 0x7F7F, 0x7F80, 0x7F80},
                                         {Format::fp8_e4m3, 4, 3, 7, 0x7E, 0, 0x7E},
                                         {Format::fp8_e5m2, 5, 2, 15, 0x7B, 0x7C, 0x7B}}};

/// The size of a magnitude code by the definition; the code after the largest has the value that a
/// further finite number would have, from which the rounding boundary of the largest follows.
double size_of(const Layout& layout, std::uint32_t magnitude) {
  const auto exponent = static_cast<int>(magnitude >> layout.fraction_bits);
  const double fraction = std::ldexp(magnitude & ((1U << layout.fraction_bits) - 1),
                                     -static_cast<int>(layout.fraction_bits));
  return exponent == 0 ? std::ldexp(fraction, 1 - layout.bias)
                       : std::ldexp(1 + fraction, exponent - layout.bias);
}

float decoded(const Layout& layout, std::uint32_t code) {
  const auto wide = static_cast<std::uint16_t>(code);
  const auto narrow = static_cast<std::uint8_t>(code);
  switch (layout.format) {
    case Format::fp16:
      return to_float(Fp16{wide});
    case Format::bf16:
      return to_float(Bf16{wide});
    case Format::fp8_e4m3:
      return to_float(E4m3{narrow});
    default:
      return to_float(E5m2{narrow});
  }
}

std::uint32_t encoded(const Layout& layout, float value) {
  switch (layout.format) {
    case Format::fp16:
      return to_fp16(value).bits;
    case Format::bf16:
      return to_bf16(value).bits;
    case Format::fp8_e4m3:
      return to_e4m3(value).bits;
    default:
      return to_e5m2(value).bits;
  }
}

bool is_nan_code(const Layout& layout, std::uint32_t code) {
  return layout.magnitude(code) > std::max(layout.largest, layout.infinity);
}

bool is_quiet_nan(const Layout& layout, std::uint32_t code) {
  const std::uint32_t quiet = 1U << (layout.fraction_bits - 1);
  return is_nan_code(layout, code) && (code & quiet) != 0;
}

/// Counts comparisons and keeps the first that failed: millions of CHECKs would take minutes.
struct Tally {
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
  float first_wrong = 0;

  void expect(bool right, float value) {
    ++checked;
    if (!right && wrong++ == 0) {
      first_wrong = value;
    }
  }
};

// Both signs of a magnitude go to the code of their sign.
void expect_code(Tally& tally, const Layout& layout, float value, std::uint32_t magnitude) {
  tally.expect(encoded(layout, value) == magnitude, value);
  tally.expect(encoded(layout, -value) == (magnitude | layout.sign()), -value);
}

/// Nearest code of |value| among all sizes in order, ties to the even code.
std::uint32_t nearest(const Layout& layout, const std::vector<double>& sizes, float value) {
  const double size = std::abs(double{value});
  const auto above = std::ranges::upper_bound(sizes, size);
  if (above == sizes.end()) {
    return layout.beyond;
  }
  const auto below = static_cast<std::uint32_t>(above - sizes.begin()) - 1;
  const double middle = (sizes[below] + sizes[below + 1]) / 2;  // exact
  const bool up = size > middle || (size == middle && below % 2 == 1);
  const std::uint32_t code = below + (up ? 1 : 0);
  return code > layout.largest ? layout.beyond : code;
}

std::vector<double> sizes_of(const Layout& layout) {
  std::vector<double> sizes;
  for (std::uint32_t code = 0; code <= layout.largest + 1; ++code) {
    sizes.push_back(size_of(layout, code));
  }
  return sizes;
}

/// Any bits at all on even draws; on odd ones a size spread evenly in its logarithm over the range
/// of the format and a little past it on both sides.
float drawn_value(const Layout& layout, const Random& random, std::uint64_t index) {
  const auto any = std::bit_cast<float>(random.block(index)[0]);
  if (index % 2 == 0) {
    return any;
  }
  const double low = std::log2(size_of(layout, 1)) - 2;
  const double high = std::min(127.9, std::log2(size_of(layout, layout.largest)) + 2);
  return std::copysign(static_cast<float>(std::exp2(random.uniform(index, low, high))), any);
}

}  // namespace

TEST_CASE("the code of a float format has the value of its sign, exponent and fraction") {
  for (const Layout& layout : layouts) {
    CAPTURE(name_of(layout.format));
    Tally finite;
    Tally other;
    for (std::uint32_t code = 0; code < layout.codes(); ++code) {
      const float value = decoded(layout, code);
      const std::uint32_t magnitude = layout.magnitude(code);
      const bool negative = code != magnitude;
      if (is_nan_code(layout, code)) {
        other.expect(std::isnan(value), value);
      } else if (magnitude == layout.infinity && layout.infinity != 0) {
        other.expect(value == (negative ? -infinity : infinity), value);
      } else {
        finite.expect(std::abs(double{value}) == size_of(layout, magnitude) &&
                          std::signbit(value) == negative,
                      value);
      }
    }
    CAPTURE(finite.first_wrong, other.first_wrong);
    CHECK(finite.wrong == 0);
    CHECK(other.wrong == 0);
    CHECK(finite.checked == 2 * (layout.largest + 1));
    CHECK(other.checked == layout.codes() - finite.checked);
  }
}

TEST_CASE("every code survives the round trip") {
  for (const Layout& layout : layouts) {
    CAPTURE(name_of(layout.format));
    Tally numbers;
    Tally nans;
    for (std::uint32_t code = 0; code < layout.codes(); ++code) {
      const float value = decoded(layout, code);
      const std::uint32_t back = encoded(layout, value);
      const std::uint32_t sign = code & layout.sign();
      if (is_nan_code(layout, code)) {
        nans.expect(is_quiet_nan(layout, back) && (back & layout.sign()) == sign, value);
      } else {
        const bool infinite = layout.magnitude(code) > layout.largest;
        numbers.expect(back == (infinite ? sign | layout.beyond : code), value);
      }
    }
    CAPTURE(numbers.first_wrong);
    CHECK(numbers.wrong == 0);
    CHECK(nans.wrong == 0);
    CHECK(numbers.checked + nans.checked == layout.codes());
  }
}

TEST_CASE("numbers of each format as its specification lists them") {
  CHECK(to_float(Fp16{0x7BFF}) == 65'504);
  CHECK(to_float(Fp16{0x0400}) == 0x1p-14F);
  CHECK(to_float(Fp16{0x0001}) == 0x1p-24F);
  CHECK(to_float(Fp16{0x3555}) == 0.333251953125F);
  CHECK(to_float(Bf16{0x7F7F}) == 0x1.FEp127F);
  CHECK(to_float(Bf16{0x0001}) == 0x1p-133F);
  CHECK(to_float(E4m3{0x7E}) == 448);
  CHECK(to_float(E4m3{0x08}) == 0x1p-6F);
  CHECK(to_float(E4m3{0x07}) == 0.875F * 0x1p-6F);
  CHECK(to_float(E4m3{0x01}) == 0x1p-9F);
  CHECK(to_float(E5m2{0x7B}) == 57'344);
  CHECK(to_float(E5m2{0x04}) == 0x1p-14F);
  CHECK(to_float(E5m2{0x01}) == 0x1p-16F);
  CHECK(to_float(E5m2{0xFC}) == -infinity);

  const std::array<std::uint32_t, 4> nans{2 * 1023, 2 * 127, 2 * 1, 2 * 3};
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    std::uint32_t counted = 0;
    for (std::uint32_t code = 0; code < layouts[i].codes(); ++code) {
      counted += std::isnan(decoded(layouts[i], code)) ? 1 : 0;
    }
    CHECK(counted == nans[i]);
  }
}

TEST_CASE("between two codes a value goes to the nearer, in the middle to the even one") {
  for (const Layout& layout : layouts) {
    CAPTURE(name_of(layout.format));
    Tally tally;
    for (std::uint32_t below = 0; below <= layout.largest; ++below) {
      const std::uint32_t above = below == layout.largest ? layout.beyond : below + 1;
      const double middle = (size_of(layout, below) + size_of(layout, below + 1)) / 2;
      const auto tie = static_cast<float>(middle);
      tally.expect(double{tie} == middle, tie);  // every boundary is an fp32 number
      expect_code(tally, layout, std::nextafter(tie, 0.0F), below);
      expect_code(tally, layout, tie, below % 2 == 0 ? below : above);
      expect_code(tally, layout, std::nextafter(tie, infinity), above);
    }
    CAPTURE(tally.first_wrong);
    CHECK(tally.wrong == 0);
    CHECK(tally.checked == 7 * (layout.largest + 1));
  }
}

TEST_CASE("zeros, the least, the greatest, infinities and NaNs") {
  for (const Layout& layout : layouts) {
    CAPTURE(name_of(layout.format));
    Tally tally;
    expect_code(tally, layout, 0, 0);
    expect_code(tally, layout, std::numeric_limits<float>::denorm_min(), 0);
    expect_code(tally, layout, std::numeric_limits<float>::max(), layout.beyond);
    expect_code(tally, layout, infinity, layout.beyond);
    CHECK(tally.wrong == 0);
    // Quiet and signalling, every single payload bit, all of them, both signs.
    std::size_t nans = 0;
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      for (std::uint32_t bit = 0; bit <= 23; ++bit) {
        const std::uint32_t payload = bit == 23 ? 0x7FFFFFU : 1U << bit;
        const std::uint32_t code =
            encoded(layout, std::bit_cast<float>(sign | 0x7F800000U | payload));
        CHECK(is_quiet_nan(layout, code));
        CHECK(((code & layout.sign()) != 0) == (sign != 0));
        CHECK(code < layout.codes());
        ++nans;
      }
    }
    CHECK(nans == 48);
  }
}

TEST_CASE("a million values of any size go to the nearest code") {
  for (const Layout& layout : layouts) {
    CAPTURE(name_of(layout.format));
    const std::vector<double> sizes = sizes_of(layout);
    const Random random(91, static_cast<std::uint64_t>(layout.format));
    Tally tally;
    std::uint64_t nans = 0;
    for (std::uint64_t i = 0; i < draws; ++i) {
      const float value = drawn_value(layout, random, i);
      if (std::isnan(value)) {
        ++nans;
        continue;
      }
      const std::uint32_t sign = std::signbit(value) ? layout.sign() : 0;
      tally.expect(encoded(layout, value) == (sign | nearest(layout, sizes, value)), value);
    }
    CAPTURE(tally.first_wrong);
    CHECK(tally.wrong == 0);
    CHECK(tally.checked + nans == draws);
    CHECK(nans < draws / 100);
  }
}

#ifdef __FLT16_MANT_DIG__  // g++ on x86-64; clang 14 has the type only for processors with it
TEST_CASE("fp16 is the compiler's own") {
  const Layout& layout = layouts[0];
  using Native = _Float16;
  const auto native = [](float value) {
    return std::uint32_t{std::bit_cast<std::uint16_t>(static_cast<Native>(value))};
  };
  Tally codes;
  for (std::uint32_t code = 0; code < layout.codes(); ++code) {
    const float value = decoded(layout, code);
    const auto theirs = static_cast<float>(std::bit_cast<Native>(static_cast<std::uint16_t>(code)));
    codes.expect(value == theirs || (std::isnan(value) && std::isnan(theirs)), value);
  }
  CHECK(codes.wrong == 0);
  CHECK(codes.checked == 65'536);

  const Random random(92, 0);
  Tally values;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const float value = drawn_value(layout, random, i);
    if (!std::isnan(value)) {
      values.expect(encoded(layout, value) == native(value), value);
    }
  }
  CAPTURE(values.first_wrong);
  CHECK(values.wrong == 0);
  CHECK(values.checked > draws * 99 / 100);
}
#endif

TEST_CASE("bf16 by hand") {
  static_assert(to_bf16(1.0F) == Bf16{0x3F80});
  static_assert(to_float(Bf16{0xC020}) == -2.5F);
  CHECK(to_bf16(1 + 0x1p-8F) == Bf16{0x3F80});      // tie, to the even 1
  CHECK(to_bf16(1 + 3 * 0x1p-8F) == Bf16{0x3F82});  // tie, to the even 1 + 2/128
  CHECK(to_float(to_bf16(3.14159F)) == 3.140625F);
  CHECK(to_bf16(0x1.FEp127F) == Bf16{0x7F7F});
  CHECK(to_bf16(-std::numeric_limits<float>::max()) == Bf16{0xFF80});
}

TEST_CASE("E4M3 as a table of weights") {  // 000: exponentials of scores that are at most 0
  std::uint32_t values = 0;
  for (std::uint32_t code = 0; code < 256; ++code) {
    const float value = to_float(E4m3{static_cast<std::uint8_t>(code)});
    values += value > 0 && value <= 1 ? 1 : 0;
  }
  CHECK(values == 56);
  const auto rounded = [](float value) { return to_float(to_e4m3(value)); };
  CHECK(rounded(0x1p-10F) == 0);
  CHECK(rounded(0.96875F) == 1);
  CHECK(rounded(0.90625F) == 0.875F);
  CHECK(rounded(2.5F * 0x1p-9F) == 2 * 0x1p-9F);
  CHECK(rounded(7.5F * 0x1p-9F) == 0x1p-6F);
  CHECK(rounded(std::exp(-6.9314F)) == 0x1p-9F);
  CHECK(rounded(std::exp(-6.9315F)) == 0);
}
