// What the modules are built from: plain numbers, already checked. Nothing here knows SystemC or
// YAML.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/enum_names.hpp"
#include "base/units.hpp"

namespace qfs {

enum class MemoryTier {
  ideal,  // bytes / peak bandwidth, shared fairly among streams in flight
};

template <>
inline constexpr EnumNames<MemoryTier, 1> enum_names<MemoryTier>{{{MemoryTier::ideal, "ideal"}}};

struct DeviceConfig {
  std::string preset = "ideal";
  MemoryTier memory = MemoryTier::ideal;
  BytesPerSecond bandwidth{1e12};     // peak, of its memory
  std::optional<Bytes> capacity;      // of its memory; none: unlimited
  MacsPerSecond mac_rate{unlimited};  // multiply-accumulates
  ExpsPerSecond exp_rate{unlimited};  // exponentials
  Seconds launch_overhead{0};         // per launch, before memory and arithmetic start
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
