#include "sim/report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace qfs {
namespace {

constexpr std::int64_t femtoseconds_per_microsecond = 1'000'000'000;

/// Commas into the digits that stand before the point, if there is one.
std::string with_commas(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  std::size_t at = std::min(digits.find('.'), digits.size());
  while (at > first + 3) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace

std::string exact_microseconds(Femtoseconds time) {
  const std::int64_t value = time.value();
  const std::int64_t size = value < 0 ? -value : value;
  return fmt::format("{}{}.{:09}", value < 0 ? "-" : "", size / femtoseconds_per_microsecond,
                     size % femtoseconds_per_microsecond);
}

std::string grouped(std::int64_t number) { return with_commas(fmt::format("{}", number)); }

std::string grouped(double number, int decimals) {
  if (!std::isfinite(number)) {
    return fmt::format("{}", number);
  }
  return with_commas(fmt::format("{:.{}f}", number, decimals));
}

std::string microseconds_text(double microseconds) {
  constexpr double long_time = 1e5;
  constexpr double very_long_time = 1e7;
  if (microseconds >= very_long_time) {
    return grouped(microseconds, 0);
  }
  return grouped(microseconds, microseconds >= long_time ? 1 : 3);
}

std::string context_text(std::size_t positions) {
  constexpr std::size_t ki = 1024;
  constexpr std::size_t mi = ki * ki;
  if (positions >= mi && positions % mi == 0) {
    return fmt::format("{} Mi", positions / mi);
  }
  if (positions >= ki && positions % ki == 0) {
    return fmt::format("{} Ki", positions / ki);
  }
  return grouped(static_cast<std::int64_t>(positions));
}

std::string rate_text(double per_second, const char* unit) {
  static constexpr std::array<std::pair<double, std::string_view>, 5> prefixes{
      {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  if (!std::isfinite(per_second)) {
    return "unlimited";
  }
  for (const auto& [factor, prefix] : prefixes) {
    if (per_second >= factor) {
      return fmt::format("{:.6g} {}{}", per_second / factor, prefix, unit);
    }
  }
  return fmt::format("{:.6g} {}", per_second, unit);
}

std::string bytes_text(Bytes bytes) {
  static constexpr std::array<const char*, 5> units{"KiB", "MiB", "GiB", "TiB", "PiB"};
  constexpr double step = 1024;
  if (bytes.value() < 1024) {
    return fmt::format("{} B", bytes.value());
  }
  double value = static_cast<double>(bytes.value()) / step;
  std::size_t unit = 0;
  for (; value >= step && unit + 1 < units.size(); ++unit) {
    value /= step;
  }
  const int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

std::string percent_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "-";
}

std::string counted(std::size_t number, const std::string& thing) {
  return grouped(static_cast<std::int64_t>(number)) + " " + thing + (number == 1 ? "" : "s");
}

std::string paragraph(const std::string& sentence) {
  constexpr std::size_t width = 100;
  std::string text;
  std::string line = " ";
  std::size_t begin = 0;
  while (begin < sentence.size()) {
    const std::size_t end = std::min(sentence.find(' ', begin), sentence.size());
    const std::string word = sentence.substr(begin, end - begin);
    if (line.size() + 1 + word.size() > width) {
      text += line + "\n";
      line = "   ";
    }
    line += " " + word;
    begin = end + 1;
  }
  return text + line + "\n";
}

std::string deviation_text(double deviation) {
  constexpr double resolved = 1e-14;
  constexpr double small = 1e-4;
  constexpr double large = 10;
  if (std::abs(deviation) < resolved) {
    return "0";
  }
  if (std::abs(deviation) < small || std::abs(deviation) >= large) {
    return fmt::format("{:+.1e}", deviation);
  }
  return fmt::format("{:+.2f} %", 100 * deviation);
}

}  // namespace qfs
