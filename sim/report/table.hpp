// What a run prints: plain ASCII, at most 100 columns.
#pragma once

#include <span>
#include <string>

#include "sim/report/point_analysis.hpp"
#include "sim/run/result.hpp"

namespace qfs {

std::string report_table(const RunResult& result, std::span<const PointAnalysis> analyses);

}  // namespace qfs
