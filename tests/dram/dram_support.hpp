// Memories and reads for the tests of the DRAM models.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "hardware/memory/dram/burst_memory.hpp"
#include "hardware/memory/dram/characterise.hpp"
#include "sim/config/dram_load.hpp"

namespace qfs::test {

inline const char* const all_presets[] = {
    "ddr4-2400", "ddr4-3200",     "ddr5-4800", "ddr5-5600",   "lpddr5-6400", "hbm2",
    "hbm3-6400", "hbm3-6400-q64", "hbm3e",     "gddr6-14000", "lpddr5x-8533"};

inline dram::DramConfig with_queue(const std::string& preset, std::size_t read_queue,
                                   std::vector<std::string> overrides = {}) {
  overrides.push_back(fmt::format("controller.read_queue={}", read_queue));
  return load_dram_named(preset, overrides);
}

inline dram::Access sequential(std::uint64_t bytes) {
  dram::Access access;
  access.bytes = Bytes(static_cast<std::int64_t>(bytes));
  return access;
}

struct TickRun {
  dram::Tick ticks = 0;
  dram::Counters counters;
};

/// Until the last beat of the last transaction.
inline TickRun run_ticks(const dram::DramConfig& config,
                         std::span<const dram::Transaction> transactions) {
  dram::BurstMemory memory(config);
  for (const dram::Transaction& transaction : transactions) {
    memory.start(transaction);
  }
  memory.run();
  TickRun run;
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    run.ticks = std::max(run.ticks, memory.end_tick(i));
  }
  run.counters = memory.counters();
  return run;
}

inline TickRun run_ticks(const dram::DramConfig& config, const dram::Access& access) {
  return run_ticks(config, dram::reads_of(config, access));
}

}  // namespace qfs::test
