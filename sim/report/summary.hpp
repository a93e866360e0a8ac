// summary.json: what was run and what was found, one entry per point.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "sim/report/point_analysis.hpp"
#include "sim/run/result.hpp"

namespace qfs {

/// Goes up when a field changes its name or its meaning.
inline constexpr int summary_format = 1;

/// Units stand in the names. null: does not apply, unlimited, or not a finite number.
nlohmann::ordered_json summary_json(const RunResult& result,
                                    std::span<const PointAnalysis> analyses);

}  // namespace qfs
