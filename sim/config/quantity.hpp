// Numbers with their unit, as text: `4.8 TB/s`, `10 us`, `80 GiB`, `495 TMAC/s`, `16 Mi`.
// k, M, G, T, P are powers of 1000; Ki, Mi, Gi, Ti powers of 1024; B is a byte. Spelling counts:
// TB/s, not tb/s.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace qfs::config {

enum class Dimension { rate, time, size, mac_rate, exp_rate, count };

/// The dimension of a quantity's type.
template <class Q>
inline constexpr Dimension dimension_of = Dimension::count;
template <>
inline constexpr Dimension dimension_of<BytesPerSecond> = Dimension::rate;
template <>
inline constexpr Dimension dimension_of<Seconds> = Dimension::time;
template <>
inline constexpr Dimension dimension_of<MacsPerSecond> = Dimension::mac_rate;
template <>
inline constexpr Dimension dimension_of<ExpsPerSecond> = Dimension::exp_rate;

/// The spellings of the units of a dimension; those of a count may be left out.
const std::vector<std::string>& unit_names(Dimension dimension);

/// A finite number of at least 0 in the base unit (B/s, s, B, MAC/s, exp/s; 1 MAC = 2 FLOP),
/// rounded once from the decimal text. Throws ValueError for anything else.
double parse_quantity(std::string_view text, Dimension dimension);
/// The same for whole numbers, exact up to 2^64 - 1; the dimension is size or count.
std::uint64_t parse_whole(std::string_view text, Dimension dimension);
/// A plain number, without a unit: finite, of either sign.
double parse_number(std::string_view text);

/// The shortest text that parse_quantity reads back to exactly this value; `unlimited` for
/// infinity.
std::string format_quantity(double value, Dimension dimension);
/// The shortest exact text: `80 GiB`, `141 GB`, `4097 B`.
std::string format_size(Bytes size);
/// Digits; multiples of 2^20 in Mi, Gi or Ti.
std::string format_count(std::uint64_t count);
/// The shortest plain text that parse_number reads back to exactly this value.
std::string format_number(double value);

}  // namespace qfs::config
