// What attention does to a memory, for every one of several: reads by lanes that are neighbours or
// rows apart, and appends that arrive while a sweep is running.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/units.hpp"
#include "hardware/memory/dram/characterise.hpp"

namespace qfs {

enum class MemoryStudy { coalescing, appends };

template <>
inline constexpr EnumNames<MemoryStudy, 2> enum_names<MemoryStudy>{{
    {MemoryStudy::coalescing, "coalescing"},
    {MemoryStudy::appends, "appends"},
}};

/// 003 section 4: the lanes of a kernel read K of fp32 and head size 64 from a memory without a
/// cache before it. Coalesced, neighbours read neighbouring values, so that every byte of a burst
/// is used; uncoalesced, they are a row of 256 bytes apart, and each burst brings one value of 4.
struct Coalescing {
  BytesPerSecond peak;
  BytesPerSecond coalesced;    // useful bytes
  BytesPerSecond uncoalesced;  // useful bytes
  BytesPerSecond moved;        // by it: whole bursts
};
/// Of 16 MiB of K, whole or one value of each row.
Coalescing study_coalescing(const dram::DramConfig& config, dram::Tier tier);

/// A sweep of Qwen3-0.6B at 4,096 positions, one layer (K and V of 8 KV heads of 128 in bf16, 16
/// MiB, V in other banks), in the midst of which the k and v of `requests` requests arrive to be
/// written, 16 rows of 256 bytes for each.
struct AppendCost {
  Seconds sweep;        // alone
  Seconds with_append;  // with it
  Seconds write;        // of the rows alone
  Bytes written;
};
AppendCost study_append(const dram::DramConfig& config, dram::Tier tier, std::size_t requests);

/// A line for each memory.
std::string study_table(MemoryStudy study, const std::vector<dram::DramConfig>& configs,
                        dram::Tier tier);

}  // namespace qfs
