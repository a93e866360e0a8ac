// What the modules are built from: plain numbers, already checked. Nothing here knows SystemC or
// YAML.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/enum_names.hpp"
#include "base/units.hpp"
#include "hardware/device/fitted_device.hpp"
#include "hardware/memory/dram/config.hpp"

namespace qfs {

enum class MemoryTier {
  ideal,   // bytes / peak bandwidth, shared fairly among streams in flight
  stream,  // DRAM, by its rows and refreshes
  burst,   // DRAM, command by command
};

template <>
inline constexpr EnumNames<MemoryTier, 3> enum_names<MemoryTier>{{
    {MemoryTier::ideal, "ideal"},
    {MemoryTier::stream, "stream"},
    {MemoryTier::burst, "burst"},
}};

/// Whether K and V of a layer, which a sweep reads side by side, meet in the same banks.
enum class KvBanks {
  same,   // every row of V conflicts with the row of K that is read at the time
  other,  // half of the banks away
};

template <>
inline constexpr EnumNames<KvBanks, 2> enum_names<KvBanks>{{
    {KvBanks::same, "same"},
    {KvBanks::other, "other"},
}};

struct DeviceConfig {
  std::string preset = "ideal";
  MemoryTier memory = MemoryTier::ideal;
  /// What its memory is made of; tiers stream and burst need it. `bandwidth` is its peak then.
  std::optional<dram::DramConfig> dram;
  std::size_t dram_parts = 1;  // equal ones, over which every stream is spread evenly
  KvBanks kv_banks = KvBanks::other;
  Bytes kv_chunk{4096};               // of K, then as much of V, in a sweep
  BytesPerSecond bandwidth{1e12};     // peak, of its memory
  std::optional<Bytes> capacity;      // of its memory; none: unlimited
  MacsPerSecond mac_rate{unlimited};  // multiply-accumulates
  ExpsPerSecond exp_rate{unlimited};  // exponentials
  Seconds launch_overhead{0};         // per launch, before memory and arithmetic start
  /// What launches take, whole, as measured: memory, arithmetic and launch_overhead above then only
  /// say what a launch could do at best, and how long appends take.
  std::optional<FittedDevice> kernels;
  CacheState last_level_cache = CacheState::cold;  // to those kernels
};

struct LinkConfig {
  std::string preset = "ideal";
  Seconds latency{0};                   // one way, after the last byte has left the port
  BytesPerSecond bandwidth{unlimited};  // one direction
  Seconds message_overhead{0};  // the port is busy this long for any message, besides its bytes
  Seconds jitter{0};            // added to each arrival, uniform in [0, jitter), order kept
  std::uint64_t jitter_seed = 0;
};

}  // namespace qfs
