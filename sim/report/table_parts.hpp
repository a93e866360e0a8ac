// The parts of the terminal report; each is text that ends in a line feed, or is empty.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/report/point_analysis.hpp"
#include "sim/run/result.hpp"

namespace qfs {

/// What was run: model, arrangement, workload, devices, link, formats, accounting.
std::string header_part(const RunConfig& config);

/// What it comes to at the main context, in sentences: whether the numbers hold, which block order
/// is faster, what hides, where that stops.
std::string answer_part(const RunResult& result, std::span<const PointAnalysis> analyses);

/// One row per point: step, speed against the baseline, sweep, closed form, roofline.
std::string points_part(const RunResult& result, std::span<const PointAnalysis> analyses);

/// What the numeric checks found, or that there were none.
std::string numerics_part(const RunResult& result);

/// The name of the point's block order.
std::string block_of(const PointAnalysis& point);
/// The point's context, or that its requests have contexts of their own.
std::string context_of(const PointAnalysis& point);
/// The points that stand at the main context, in order.
std::vector<const PointAnalysis*> main_points(const RunResult& result,
                                              std::span<const PointAnalysis> analyses);
/// The ledger of the first step of each, of wave 0.
std::string ledger_part(std::span<const PointAnalysis* const> points);
/// Speeds and the two sides of a layer.
std::string speed_part(std::span<const PointAnalysis* const> points);

}  // namespace qfs
