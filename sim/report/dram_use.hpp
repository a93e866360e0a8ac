// What the DRAM of each device did in a point, for the reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware/execution_table.hpp"
#include "sim/config/run_config.hpp"
#include "sim/report/point_analysis.hpp"

namespace qfs {

/// Of all parts together, in the whole point.
struct DramUse {
  std::string device;
  std::string dram;  // "hbm3-6400", "5 x hbm3e"
  dram::Counters counters;
  double hit_share = 0;          // of the bursts, those that found their row open
  Bytes moved;                   // whole bursts
  Seconds busy;                  // of its data buses
  std::optional<double> joules;  // none where a figure has no source
};
/// Of devices with DRAM that is timed as such, in their order.
std::vector<DramUse> dram_use_of(const RunConfig& config, const ExecutionTable& table);

/// A line for each device of each point; empty without DRAM.
std::string dram_part(const RunConfig& config, std::span<const PointAnalysis* const> points);

}  // namespace qfs
