#include "sim/config/bits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <vector>

namespace qfs::config {
namespace {

/// How a unit of bits ends; `any_case`: beyond doubt, so that the prefix may be spelt anyhow.
struct Ending {
  const char* text;
  bool any_case;
};

constexpr Ending rate_endings[] = {
    {"bit/s", true}, {"bits/s", true}, {"bps", true}, {"b/s", false}};
constexpr Ending size_endings[] = {{"bit", true}, {"bits", true}, {"b", false}};

std::string lower(std::string_view text) {
  std::string folded(text);
  std::transform(folded.begin(), folded.end(), folded.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return folded;
}

/// The unit of bytes with the same prefix; empty if the text is no unit of bits.
std::string unit_of_bytes(std::string_view unit, Dimension dimension) {
  const bool is_rate = dimension == Dimension::rate;
  const std::span<const Ending> endings =
      is_rate ? std::span<const Ending>(rate_endings) : std::span<const Ending>(size_endings);
  for (const Ending& ending : endings) {
    if (!unit.ends_with(ending.text)) {
      continue;
    }
    std::string wanted(unit.substr(0, unit.size() - std::string_view(ending.text).size()));
    wanted += is_rate ? "B/s" : "B";
    for (const std::string& name : unit_names(dimension)) {
      if (name == wanted || (ending.any_case && lower(name) == lower(wanted))) {
        return name;
      }
    }
  }
  return {};
}

}  // namespace

std::optional<ValueError> complaint_of_bits(std::string_view whole, std::string_view amount,
                                            std::string_view unit, Dimension dimension) {
  if (dimension != Dimension::rate && dimension != Dimension::size) {
    return std::nullopt;
  }
  const std::string bytes_unit = unit_of_bytes(unit, dimension);
  if (bytes_unit.empty()) {
    return std::nullopt;
  }
  constexpr double bits_of_a_byte = 8;
  ValueError error(fmt::format("{} is in bits", in_quotes(whole)));
  error.legal =
      dimension == Dimension::rate ? "bytes a second, e.g. 4.8 TB/s" : "bytes, e.g. 80 GiB";
  try {
    const double bytes =
        parse_quantity(fmt::format("{} {}", amount, bytes_unit), dimension) / bits_of_a_byte;
    error.legal += fmt::format("; {} are {}", whole, format_quantity(bytes, dimension));
  } catch (const ValueError&) {  // no amount that could be told in bytes
  }
  return error;
}

}  // namespace qfs::config
