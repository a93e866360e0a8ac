// A memory by itself under a simple access pattern: what `qfsim memory` prints.
#pragma once

#include <cstdint>
#include <vector>

#include "base/enum_names.hpp"
#include "base/units.hpp"
#include "hardware/memory/dram/burst_memory.hpp"

namespace qfs::dram {

/// sequential: one read of everything. alternating: chunks of two places in turn, as K and V.
/// stride: one burst of every few.
enum class Pattern { sequential, alternating, stride };

/// How the bytes are computed to take their time.
enum class Tier { ideal, stream, burst };

struct Access {
  Pattern pattern = Pattern::sequential;
  Bytes bytes;                                  // useful ones
  Bytes chunk{4096};                            // of alternating
  Bytes second_place{std::int64_t{512} << 20};  // where the other place begins
  std::uint64_t every = 4;                      // of stride
};

struct Characterisation {
  Femtoseconds time;         // from the first command to the last beat of data
  Femtoseconds single_read;  // of one burst, all banks closed
  BytesPerSecond peak;
  Counters counters;  // zeros where no commands are simulated

  [[nodiscard]] BytesPerSecond achieved(Bytes bytes) const {
    return BytesPerSecond(static_cast<double>(bytes.value()) / to_seconds(time).value());
  }
};

/// The reads of a pattern, all there from the beginning.
std::vector<Transaction> reads_of(const DramConfig& config, const Access& access);

/// bytes >= 1, chunk >= 1, every >= 1.
Characterisation characterise(const DramConfig& config, const Access& access, Tier tier);

}  // namespace qfs::dram

namespace qfs {

template <>
inline constexpr EnumNames<dram::Pattern, 3> enum_names<dram::Pattern>{{
    {dram::Pattern::sequential, "sequential"},
    {dram::Pattern::alternating, "alternating"},
    {dram::Pattern::stride, "stride"},
}};

template <>
inline constexpr EnumNames<dram::Tier, 3> enum_names<dram::Tier>{{
    {dram::Tier::ideal, "ideal"},
    {dram::Tier::stream, "stream"},
    {dram::Tier::burst, "burst"},
}};

}  // namespace qfs
