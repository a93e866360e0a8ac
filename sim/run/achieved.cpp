#include "sim/run/achieved.hpp"

#include <vector>

#include "hardware/device/memory_layout.hpp"
#include "hardware/memory/dram/characterise.hpp"
#include "hardware/memory/dram/stream_memory.hpp"
#include "hardware/memory/dram_memory.hpp"

namespace qfs {
namespace {

/// So long that a refresh more or less at its end does not show; command by command that takes
/// long.
Bytes long_read(MemoryTier tier) {
  return Bytes(std::int64_t{tier == MemoryTier::burst ? 64 : 1024} << 20);
}

bool is_timed(const DeviceConfig& device) { return device.memory != MemoryTier::ideal; }

BytesPerSecond achieved_by(const DeviceConfig& device, dram::Pattern pattern) {
  if (!is_timed(device)) {
    return device.bandwidth;
  }
  const dram::DramConfig& part = *device.dram;
  const Bytes read = long_read(device.memory);
  dram::Access access;
  access.pattern = pattern;
  access.bytes = read;
  access.chunk = Bytes(static_cast<std::int64_t>(
      share_of({.length = read, .piece = static_cast<std::uint64_t>(device.kv_chunk.value())},
               device.dram_parts, part)
          .piece));
  const std::uint64_t rows_apart = row_distance(part);
  const auto reads = static_cast<std::uint64_t>(read.value());
  const std::uint64_t same = (reads + rows_apart - 1) / rows_apart * rows_apart;
  access.second_place = Bytes(
      static_cast<std::int64_t>(same + (device.kv_banks == KvBanks::other ? rows_apart / 2 : 0)));
  const std::vector<dram::Transaction> transactions = dram::reads_of(part, access);
  const dram::BurstRun run = device.memory == MemoryTier::burst
                                 ? dram::run_bursts(part, transactions)
                                 : dram::run_streams(part, transactions);
  const double of_part = static_cast<double>(read.value()) / to_seconds(run.end).value();
  return BytesPerSecond(static_cast<double>(device.dram_parts) * of_part);
}

bool has_cache_devices(const RunConfig& config) {
  return config.arrangement == Arrangement::two_device || config.arrangement == Arrangement::pooled;
}

}  // namespace

std::optional<AchievedBandwidth> achieved_bandwidth(const RunConfig& config) {
  const bool cache = has_cache_devices(config);
  if (!is_timed(config.compute_device) && !(cache && is_timed(config.cache_device))) {
    return std::nullopt;
  }
  const BytesPerSecond compute = achieved_by(config.compute_device, dram::Pattern::sequential);
  return AchievedBandwidth{
      compute, cache ? achieved_by(config.cache_device, dram::Pattern::alternating) : compute};
}

RunConfig at_achieved(RunConfig config, const AchievedBandwidth& achieved) {
  config.compute_device.memory = MemoryTier::ideal;
  config.compute_device.bandwidth = achieved.compute;
  config.cache_device.memory = MemoryTier::ideal;
  config.cache_device.bandwidth = achieved.cache;
  return config;
}

}  // namespace qfs
