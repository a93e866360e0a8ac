#include "sim/config/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>

#include "sim/config/bits.hpp"
#include "sim/config/complaint.hpp"

namespace qfs::config {
namespace {

/// A unit is worth 10^decimal * 2^binary of its dimension's base unit.
struct Unit {
  std::string name;
  int decimal = 0;
  int binary = 0;
};

struct Prefix {
  const char* name;
  int decimal;
  int binary;
};

constexpr std::array<Prefix, 10> prefixes{{{"", 0, 0},
                                           {"k", 3, 0},
                                           {"M", 6, 0},
                                           {"G", 9, 0},
                                           {"T", 12, 0},
                                           {"P", 15, 0},
                                           {"Ki", 0, 10},
                                           {"Mi", 0, 20},
                                           {"Gi", 0, 30},
                                           {"Ti", 0, 40}}};

std::vector<Unit> prefixed(const std::string& base, bool with_binary, int binary = 0) {
  std::vector<Unit> units;
  for (const Prefix& prefix : prefixes) {
    if (with_binary || prefix.binary == 0) {
      units.push_back({prefix.name + base, prefix.decimal, prefix.binary + binary});
    }
  }
  return units;
}

/// The unit that prints come in stands first among those of its prefix.
std::vector<Unit> make_units(Dimension dimension) {
  switch (dimension) {
    case Dimension::rate:
      return prefixed("B/s", true);
    case Dimension::time:
      return {{"s", 0, 0},   {"ms", -3, 0},  {"us", -6, 0},
              {"ns", -9, 0}, {"ps", -12, 0}, {"fs", -15, 0}};
    case Dimension::size:
      return prefixed("B", true);
    case Dimension::mac_rate: {
      std::vector<Unit> units = prefixed("MAC/s", false);
      const std::vector<Unit> flops = prefixed("FLOP/s", false, -1);  // half a MAC each
      units.insert(units.end(), flops.begin(), flops.end());
      return units;
    }
    case Dimension::exp_rate:
      return prefixed("exp/s", false);
    case Dimension::count:
      return prefixed("", true);
  }
  return {};
}

const std::vector<Unit>& units_of(Dimension dimension) {
  static const std::map<Dimension, std::vector<Unit>> table = [] {
    std::map<Dimension, std::vector<Unit>> made;
    for (const Dimension each : {Dimension::rate, Dimension::time, Dimension::size,
                                 Dimension::mac_rate, Dimension::exp_rate, Dimension::count}) {
      made[each] = make_units(each);
    }
    return made;
  }();
  return table.at(dimension);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) {
    ++at;
  }
  return at;
}

/// A decimal number as written, and the rest of the text.
struct Scanned {
  std::string_view mantissa;  // sign, digits, point, digits
  std::string_view exponent;  // digits with their sign, without the e
  std::string_view unit;
};

/// Where the exponent ends that would start at `at`; `at` itself if there is none.
std::size_t skip_exponent(std::string_view text, std::size_t at) {
  if (at >= text.size() || (text[at] != 'e' && text[at] != 'E')) {
    return at;
  }
  std::size_t first = at + 1;
  if (first < text.size() && (text[first] == '-' || text[first] == '+')) {
    ++first;
  }
  const std::size_t end = skip_digits(text, first);
  return end == first ? at : end;
}

std::size_t skip_mantissa(std::string_view text, std::size_t at) {
  const std::size_t point = skip_digits(text, at);
  const bool has_point = point < text.size() && text[point] == '.';
  const std::size_t end = has_point ? skip_digits(text, point + 1) : point;
  const std::size_t digits = end - at - (has_point ? 1 : 0);
  return digits == 0 ? at : end;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return text;
}

Scanned scan(std::string_view whole) {
  const std::string_view text = trimmed(whole);
  const std::size_t first = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t mantissa_end = skip_mantissa(text, first);
  if (mantissa_end == first) {
    throw ValueError(fmt::format("{} is not a number", in_quotes(whole)));
  }
  const std::size_t end = skip_exponent(text, mantissa_end);
  Scanned scanned{text.substr(0, mantissa_end), {}, trimmed(text.substr(end))};
  if (end > mantissa_end) {
    scanned.exponent = text.substr(mantissa_end + 1, end - mantissa_end - 1);
  }
  if (scanned.mantissa.front() == '+') {
    scanned.mantissa.remove_prefix(1);
  }
  return scanned;
}

int exponent_value(std::string_view exponent) {
  if (!exponent.empty() && exponent.front() == '+') {
    exponent.remove_prefix(1);
  }
  int value = 0;
  const auto result = std::from_chars(exponent.data(), exponent.data() + exponent.size(), value);
  constexpr int beyond_any_double = 100000;
  if (result.ec == std::errc::result_out_of_range) {
    return exponent.front() == '-' ? -beyond_any_double : beyond_any_double;
  }
  return std::clamp(value, -beyond_any_double, beyond_any_double);
}

/// The number times 10^decimal, rounded once.
double scaled(const Scanned& number, int decimal, std::string_view whole) {
  const int exponent = exponent_value(number.exponent) + decimal;
  const std::string text = fmt::format("{}e{}", number.mantissa, exponent);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    throw ValueError(fmt::format("{} is beyond the range of numbers", in_quotes(whole)));
  }
  return value;
}

const Unit& find_unit(const Scanned& number, std::string_view whole, Dimension dimension) {
  for (const Unit& unit : units_of(dimension)) {
    if (unit.name == number.unit) {
      return unit;
    }
  }
  if (number.unit.empty()) {
    throw ValueError(fmt::format("{} has no unit", in_quotes(whole)));
  }
  const std::string_view amount = trimmed(whole.substr(0, whole.rfind(number.unit)));
  if (const auto bits = complaint_of_bits(whole, amount, number.unit, dimension)) {
    throw ValueError(*bits);
  }
  const std::string nearest = nearest_spelling(number.unit, unit_names(dimension));
  throw ValueError(
      fmt::format("{} has the unknown unit {}", in_quotes(whole), in_quotes(number.unit)),
      nearest.empty() ? "" : fmt::format("{} {}", amount, nearest));
}

/// The text as exact integer times unit, if it is written so and fits.
bool exact_whole(const Scanned& number, const Unit& unit, std::uint64_t& value) {
  const std::string_view digits = number.mantissa;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc() || result.ptr != digits.data() + digits.size() ||
      !number.exponent.empty()) {
    return false;
  }
  std::uint64_t factor = std::uint64_t{1} << static_cast<unsigned>(unit.binary);
  for (int i = 0; i < unit.decimal; ++i) {
    factor *= 10;
  }
  return !__builtin_mul_overflow(value, factor, &value);
}

/// Significant digits and the power of ten of the first of them: 4.8e12 is "48" and 12.
std::pair<std::string, int> shortest_digits(double value) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::scientific);
  const std::string text(buffer.data(), result.ptr);
  const std::size_t e = text.find('e');
  std::string digits = text.substr(0, e);
  std::erase(digits, '.');
  return {digits, exponent_value(std::string_view(text).substr(e + 1))};
}

/// digits d.ddd times 10^exponent, without an exponent where that stays short.
std::string decimal_text(const std::string& digits, int exponent) {
  constexpr int longest = 21;
  const int count = static_cast<int>(digits.size());
  if (exponent < -6 || exponent >= longest) {
    return fmt::format("{}{}{}e{}", digits[0], count > 1 ? "." : "", digits.substr(1), exponent);
  }
  if (exponent < 0) {
    return fmt::format("0.{:0>{}}", digits, count - exponent - 1);
  }
  if (count <= exponent + 1) {
    return fmt::format("{:0<{}}", digits, exponent + 1);
  }
  const auto point = static_cast<std::size_t>(exponent) + 1;
  return fmt::format("{}.{}", digits.substr(0, point), digits.substr(point));
}

/// The largest decimal unit that leaves at least 1 of a number of that power of ten, else the
/// smallest.
const Unit& printing_unit(const std::vector<Unit>& units, int exponent) {
  const auto preference = [exponent](const Unit& unit) {
    constexpr int last = -1000;
    if (unit.binary != 0) {
      return 2 * last;
    }
    return unit.decimal <= exponent ? unit.decimal : last - unit.decimal;
  };
  return *std::max_element(units.begin(), units.end(), [&](const Unit& a, const Unit& b) {
    return preference(a) < preference(b);
  });
}

}  // namespace

const std::vector<std::string>& unit_names(Dimension dimension) {
  static const std::map<Dimension, std::vector<std::string>> table = [] {
    std::map<Dimension, std::vector<std::string>> made;
    for (const Dimension each : {Dimension::rate, Dimension::time, Dimension::size,
                                 Dimension::mac_rate, Dimension::exp_rate, Dimension::count}) {
      for (const Unit& unit : units_of(each)) {
        if (!unit.name.empty()) {
          made[each].push_back(unit.name);
        }
      }
    }
    return made;
  }();
  return table.at(dimension);
}

double parse_quantity(std::string_view text, Dimension dimension) {
  const Scanned number = scan(text);
  const Unit& unit = find_unit(number, text, dimension);
  const double value = std::ldexp(scaled(number, unit.decimal, text), unit.binary);
  if (number.mantissa.front() == '-') {
    throw ValueError(fmt::format("{} is negative", in_quotes(text)));
  }
  if (!std::isfinite(value)) {
    throw ValueError(fmt::format("{} is beyond the range of numbers", in_quotes(text)));
  }
  return value;
}

std::uint64_t parse_whole(std::string_view text, Dimension dimension) {
  const Scanned number = scan(text);
  const Unit& unit = find_unit(number, text, dimension);
  std::uint64_t exact = 0;
  if (exact_whole(number, unit, exact)) {
    return exact;
  }
  const double value = parse_quantity(text, dimension);
  const double nearest = std::nearbyint(value);
  if (value >= std::ldexp(1.0, 64)) {
    throw ValueError(fmt::format("{} is too large", in_quotes(text)));
  }
  if (value != nearest) {
    throw ValueError(fmt::format("{} is not a whole number{}", in_quotes(text),
                                 dimension == Dimension::size ? " of bytes" : ""));
  }
  return static_cast<std::uint64_t>(nearest);
}

double parse_number(std::string_view text) {
  const Scanned number = scan(text);
  if (!number.unit.empty()) {
    throw ValueError(fmt::format("{} is not a plain number", in_quotes(text)));
  }
  return scaled(number, 0, text);
}

std::string format_quantity(double value, Dimension dimension) {
  if (std::isinf(value)) {
    return "unlimited";
  }
  const std::vector<Unit>& units = units_of(dimension);
  if (value == 0) {
    return fmt::format("0 {}", units.front().name);
  }
  const auto [digits, exponent] = shortest_digits(value);
  const Unit& unit = printing_unit(units, exponent);
  return fmt::format("{} {}", decimal_text(digits, exponent - unit.decimal), unit.name);
}

std::string format_size(Bytes size) {
  std::string best = fmt::format("{} B", size.value());
  for (const Unit& unit : units_of(Dimension::size)) {
    const auto factor =
        static_cast<std::int64_t>(std::ldexp(std::pow(10.0, unit.decimal), unit.binary));
    const std::string text = fmt::format("{} {}", size.value() / factor, unit.name);
    if (size.value() != 0 && size.value() % factor == 0 && text.size() < best.size()) {
      best = text;
    }
  }
  return best;
}

std::string format_count(std::uint64_t count) {
  constexpr std::array<std::pair<unsigned, const char*>, 3> large{
      {{40, "Ti"}, {30, "Gi"}, {20, "Mi"}}};
  for (const auto& [shift, name] : large) {
    if (count != 0 && static_cast<unsigned>(std::countr_zero(count)) >= shift) {
      return fmt::format("{} {}", count >> shift, name);
    }
  }
  return fmt::format("{}", count);
}

std::string format_number(double value) { return fmt::format("{}", value); }

}  // namespace qfs::config
