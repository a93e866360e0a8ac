// Quantities as text: exact for files, readable for the terminal. ASCII only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/units.hpp"

namespace qfs {

/// Microseconds with all nine digits after the point that whole femtoseconds have.
std::string exact_microseconds(Femtoseconds time);

/// 1234567 -> "1,234,567"
std::string grouped(std::int64_t number);
/// 8279.556 -> "8,279.556"
std::string grouped(double number, int decimals);
/// With as many decimals as fit beside large times: 3, from 100 ms on 1, from 10 s on none.
std::string microseconds_text(double microseconds);
/// 4608 -> "4,608", 16384 -> "16 Ki", 1048576 -> "1 Mi"
std::string context_text(std::size_t positions);
/// A rate with a decimal prefix, "1 TB/s"; "unlimited".
std::string rate_text(double per_second, const char* unit);
/// With a binary prefix and four digits: 117440512 -> "112.0 MiB"; below 1 KiB exactly, "17 B".
std::string bytes_text(Bytes bytes);
/// 0.1234 -> "12.3 %"
std::string percent_text(double share);
/// A number of things in words: "1 layer", "2,000 layers".
std::string counted(std::size_t number, const std::string& thing);
/// A sentence as lines of at most 100 columns, indented by two spaces, further lines by four.
std::string paragraph(const std::string& sentence);
/// A relative deviation: "0" below what doubles resolve, "+1.2e-07", "+3.10 %", or "+4.0e+07".
std::string deviation_text(double deviation);

}  // namespace qfs
