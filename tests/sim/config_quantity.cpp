// Quantities: the table of units, and that printing loses nothing.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "sim/config/complaint.hpp"
#include "sim/config/quantity.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {

using namespace config;
namespace {

struct Reading {
  const char* text;
  Dimension dimension;
  double value;
};

struct Whole {
  const char* text;
  Dimension dimension;
  std::uint64_t value;
};

const std::vector<Dimension> with_units{Dimension::rate, Dimension::time, Dimension::mac_rate,
                                        Dimension::exp_rate};

}  // namespace

TEST_CASE("quantities are rounded once from their decimal text") {
  const std::vector<Reading> table{
      {"4.8 TB/s", Dimension::rate, 4.8e12},
      {"450 GB/s", Dimension::rate, 450e9},
      {"450GB/s", Dimension::rate, 450e9},
      {"1 GiB/s", Dimension::rate, 1073741824.0},
      {"1.5 KiB/s", Dimension::rate, 1536.0},
      {"1e3 MB/s", Dimension::rate, 1e9},
      {"7 B/s", Dimension::rate, 7.0},
      {"10 us", Dimension::time, 10e-6},
      {"500 ns", Dimension::time, 500e-9},
      {"1 ms", Dimension::time, 1e-3},
      {"2 s", Dimension::time, 2.0},
      {"0.3 ps", Dimension::time, 0.3e-12},
      {".5 fs", Dimension::time, 0.5e-15},
      {"0 us", Dimension::time, 0.0},
      {"495 TMAC/s", Dimension::mac_rate, 495e12},
      {"990 TFLOP/s", Dimension::mac_rate, 495e12},
      {"989 TFLOP/s", Dimension::mac_rate, 494.5e12},
      {"4 Texp/s", Dimension::exp_rate, 4e12},
  };
  for (const Reading& row : table) {
    CAPTURE(row.text);
    CHECK(parse_quantity(row.text, row.dimension) == row.value);
  }
}

TEST_CASE("sizes and counts are exact whole numbers") {
  const std::vector<Whole> table{
      {"80 GiB", Dimension::size, 85899345920U},
      {"50 MiB", Dimension::size, 52428800U},
      {"1 MB", Dimension::size, 1000000U},
      {"0.5 kB", Dimension::size, 500U},
      {"141.5 GB", Dimension::size, 141500000000U},
      {"4096 B", Dimension::size, 4096U},
      {"9007199254740993 B", Dimension::size, 9007199254740993U},
      {"1 Ki", Dimension::count, 1024U},
      {"16 Mi", Dimension::count, 16777216U},
      {"1 Ti", Dimension::count, std::uint64_t{1} << 40U},
      {"4608", Dimension::count, 4608U},
      {"4.5 Ki", Dimension::count, 4608U},
      {"2 M", Dimension::count, 2000000U},
      {"1e6", Dimension::count, 1000000U},
      {"18446744073709551615", Dimension::count, std::numeric_limits<std::uint64_t>::max()},
  };
  for (const Whole& row : table) {
    CAPTURE(row.text);
    CHECK(parse_whole(row.text, row.dimension) == row.value);
  }
}

TEST_CASE("texts that are no quantity") {
  for (const char* text : {"",        " ",           "GB/s",        "4.8",
                           "-1 GB/s", "1e400 GB/s",  "1e-400 GB/s", "1e99999999999 GB/s",
                           "nan",     "inf GB/s",    "0x10 GB/s",   "1,5 GB/s",
                           "1 GB /s", "1 GB/s GB/s", "1 GBs",       "1 gb/s",
                           "1 Gb/s",  "--1 GB/s",    "1..2 GB/s",   "1 e3 GB/s",
                           "5 us",    "5 KB/s"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_quantity(text, Dimension::rate), ValueError);
  }
  for (const char* text :
       {"-1", "1.5", "18446744073709551616", "1e30", "16777216 Ti", "1 KiB", "1 ki"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_whole(text, Dimension::count), ValueError);
  }
}

TEST_CASE("printed quantities are short and read back exactly") {
  CHECK(format_quantity(4.8e12, Dimension::rate) == "4.8 TB/s");
  CHECK(format_quantity(450e9, Dimension::rate) == "450 GB/s");
  CHECK(format_quantity(1e-5, Dimension::time) == "10 us");
  CHECK(format_quantity(16.5e-6, Dimension::time) == "16.5 us");
  CHECK(format_quantity(0, Dimension::time) == "0 s");
  CHECK(format_quantity(494.5e12, Dimension::mac_rate) == "494.5 TMAC/s");
  CHECK(format_quantity(4e12, Dimension::exp_rate) == "4 Texp/s");
  CHECK(format_quantity(unlimited, Dimension::rate) == "unlimited");
  CHECK(format_size(Bytes(85899345920)) == "80 GiB");
  CHECK(format_size(Bytes(141'000'000'000)) == "141 GB");
  CHECK(format_size(Bytes(4097)) == "4097 B");
  CHECK(format_size(Bytes(std::numeric_limits<std::int64_t>::max())) == "9223372036854775807 B");
  CHECK(format_count(4608) == "4608");
  CHECK(format_count(std::uint64_t{16} << 20U) == "16 Mi");
  CHECK(format_count(0) == "0");
}

TEST_CASE("any finite double survives printing") {
  const Random random(7, 0);
  std::vector<double> values{std::numeric_limits<double>::min(),
                             std::numeric_limits<double>::denorm_min(),
                             std::numeric_limits<double>::max(),
                             0.1,
                             1.0 / 3,
                             1e15,
                             999999999999999.9};
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const RandomBlock bits = random.block(i);
    const auto any = std::bit_cast<double>((std::uint64_t{bits[0]} << 32U) | bits[1]);
    values.push_back(std::isfinite(any) ? std::abs(any) : 1.0);
    values.push_back(std::ldexp(random.uniform(i), static_cast<int>(bits[2] % 100U) - 50));
  }
  for (const Dimension dimension : with_units) {
    for (const double value : values) {
      const std::string text = format_quantity(value, dimension);
      CAPTURE(text, value);
      REQUIRE(parse_quantity(text, dimension) == value);
    }
  }
}

TEST_CASE("any size and count survives printing") {
  const Random random(8, 0);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const RandomBlock bits = random.block(i);
    const std::uint64_t any = ((std::uint64_t{bits[0]} << 32U) | bits[1]) >> 1U;
    const std::uint64_t value = any >> (bits[2] % 63U) << (bits[3] % 30U) >> 1U;
    CAPTURE(value);
    REQUIRE(parse_whole(format_count(value), Dimension::count) == value);
    REQUIRE(parse_whole(format_size(Bytes(static_cast<std::int64_t>(value))), Dimension::size) ==
            value);
  }
}

TEST_CASE("the nearest spelling is near, or none") {
  const std::vector<std::string> names{"batch", "context", "contexts", "tokens", "lm_head"};
  CHECK(nearest_spelling("bacth", names) == "batch");
  CHECK(nearest_spelling("contex", names) == "context");
  CHECK(nearest_spelling("LM-Head", names) == "lm_head");
  CHECK(nearest_spelling("lmhead", names) == "lm_head");
  CHECK(nearest_spelling("colour", names).empty());
  CHECK(nearest_spelling("", names).empty());
  CHECK(nearest_spelling(std::string(1000, 'b'), names).empty());
}

}  // namespace qfs::test
