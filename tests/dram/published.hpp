// What Ramulator 2.1 (c5b1c3a) measured, from tables 3.1, 3.2, 3.5 and 3.6 of the reference's
// dram.md. Its clocks are whole picoseconds, so that times are compared in clocks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace qfs::test {

inline constexpr std::uint64_t kibi = 1024;
inline constexpr std::uint64_t mebi = 1024 * kibi;

/// Zero: not measured.
struct Published {
  const char* preset;
  std::size_t read_queue;
  double tick_ns;  // as that program rounds it; HBM3's is half a clock
  double peak_gb_per_s;
  double us_1_mb, us_16_mb, us_256_mb;
  double share_16_mb_ro_ba_ra_co_ch;  // %
  double share_16_mb_no_refresh;
  double single_read_ns;
  double share_alternating_same_banks;
  double share_alternating_other_banks;
  double share_stride_4;
};

inline const std::vector<Published> published{
    {"ddr4-3200", 32, 0.625, 51.2, 21.3, 345.0, 5521, 61.5, 100.0, 30.0, 81.6, 94.6, 47.5},
    {"ddr5-4800", 32, 0.416, 76.8, 14.6, 237.8, 3810, 87.6, 100.1, 31.6, 91.1, 91.4, 23.0},
    {"lpddr5-6400", 32, 1.25, 51.2, 21.8, 350.7, 5614, 80.7, 100.0, 43.8, 63.8, 93.4, 23.4},
    {"hbm2", 32, 1.0, 256, 4.53, 72.9, 1171, 50.5, 99.9, 31.0, 70.4, 85.5, 22.5},
    {"hbm3-6400", 32, 0.312, 819.2, 1.33, 24.5, 394, 42.2, 90.3, 33.7, 43.0, 54.6, 20.9},
    {"hbm3-6400-q64", 64, 0.312, 819.2, 0, 22.6, 0, 0, 99.9, 0, 66.5, 71.8, 0},
    {"hbm3-6400", 128, 0.312, 819.2, 0, 0, 0, 0, 0, 0, 82.0, 83.1, 0},
    {"gddr6-14000", 32, 0.570, 448, 2.53, 40.9, 655, 71.0, 99.6, 31.9, 58.3, 65.0, 22.9},
    {"gddr6-14000", 128, 0.570, 448, 0, 0, 0, 0, 0, 0, 64.8, 75.1, 0},
};

/// Nanoseconds of 4, 16, 64 and 256 KiB from closed banks.
struct ColdStreams {
  const char* preset;
  double tick_ns;
  std::array<double, 4> ns;
};

inline const std::vector<ColdStreams> cold_streams{
    {"ddr4-3200", 0.625, {107.5, 347.5, 1307.5, 5147.5}},
    {"ddr5-4800", 0.416, {81.5, 241.3, 880.3, 3436.2}},
    {"lpddr5-6400", 1.25, {122.5, 362.5, 1322.5, 5420}},
    {"hbm2", 1.0, {49.0, 97.0, 289, 1057}},
    {"hbm3-6400", 0.312, {42.4, 54.9, 114.8, 356.9}},
    {"gddr6-14000", 0.570, {53.0, 70.1, 179.5, 617.3}},
};

/// Ticks lost to each all-bank refresh by a sequential read of 16 MiB.
struct RefreshLoss {
  const char* preset;
  std::size_t read_queue;
  double ticks;
};

inline const std::vector<RefreshLoss> refresh_losses{
    {"ddr4-3200", 32, 629}, {"ddr5-4800", 32, 790},  {"lpddr5-6400", 32, 206.5},
    {"hbm2", 32, 410},      {"hbm3-6400", 64, 1344}, {"gddr6-14000", 64, 283},
};

}  // namespace qfs::test
