#include "sim/report/dram_use.hpp"

#include <fmt/format.h>

#include "hardware/memory/dram/energy.hpp"
#include "sim/report/places.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"
#include "system/layout.hpp"

namespace qfs {
namespace {

/// A cache device's names begin alike, whatever else the arrangement has.
const DeviceConfig& device_named(const RunConfig& config, const std::string& name) {
  return name.starts_with("cache_device") ? config.cache_device : config.compute_device;
}

dram::Counters times(const dram::Counters& each, std::size_t parts) {
  dram::Counters all;
  for (std::size_t i = 0; i < parts; ++i) {
    all += each;
  }
  return all;
}

DramUse use_of(const MemoryUse& memory, const DeviceConfig& device) {
  const dram::DramConfig& part = device.dram.value();
  DramUse use;
  use.device = memory.device;
  use.dram = (memory.parts == 1 ? "" : fmt::format("{} x ", memory.parts)) + part.preset;
  use.counters = times(memory.counters, memory.parts);
  const std::uint64_t bursts = use.counters.bursts();
  use.hit_share =
      bursts == 0 ? 0 : static_cast<double>(use.counters.row_hits()) / static_cast<double>(bursts);
  use.moved = Bytes(static_cast<std::int64_t>(bursts * part.organisation.burst_bytes()));
  use.busy = use.moved / device.bandwidth;
  use.joules = energy_of(part, use.counters);
  return use;
}

std::string count_text(std::uint64_t count) { return grouped(static_cast<std::int64_t>(count)); }

}  // namespace

std::vector<DramUse> dram_use_of(const RunConfig& config, const ExecutionTable& table) {
  std::vector<DramUse> uses;
  for (const MemoryUse& memory : table.memories) {
    uses.push_back(use_of(memory, device_named(config, memory.device)));
  }
  return uses;
}

std::string dram_part(const RunConfig& config, std::span<const PointAnalysis* const> points) {
  TextTable table("lllrrrrrr", {"block", "device", "DRAM", "moved", "row hits", "activates",
                                "refreshes", "energy uJ", "pJ/bit"});
  bool any = false;
  for (const PointAnalysis* point : points) {
    for (const DramUse& use : dram_use_of(config, point->point->table)) {
      any = true;
      const double bits = 8 * static_cast<double>(use.moved.value());
      table.add({block_of(*point), use.device, use.dram, bytes_text(use.moved),
                 percent_text(use.hit_share), count_text(use.counters.activates),
                 count_text(use.counters.refreshes()),
                 use.joules ? fmt::format("{:.1f}", 1e6 * *use.joules) : "-",
                 use.joules && bits > 0 ? fmt::format("{:.2f}", 1e12 * *use.joules / bits) : "-"});
    }
  }
  return any ? fmt::format("\nDRAM, all steps\n{}", table.text()) : "";
}

}  // namespace qfs
