// A sweep as text: every point as CSV; as tables every point, where there are few, and which
// variant is best where.
#pragma once

#include <string>

#include "sim/sweep/sweep.hpp"

namespace qfs {

/// A sweep of no more points, of one axis at most or of one variant has each of them in its table.
inline constexpr std::size_t few_points = 40;

/// One line a point; those without figures with the reason.
std::string results_csv(const SweepResult& result);

/// Every point that can be, in a line each: the columns that have anything to say.
std::string points_table(const SweepResult& result);

/// The points, if few; the maps, if there is more than one variant; the best point of each
/// objective; how many points have no figures and why.
///
/// A map, for each notion of equality and value of all axes but the last two: a row for each
/// value of the last axis but one and a column for each of the last; in it the variant with the
/// most tokens/s (waves differ: equal resident requests, equal memory) or the least TPOT (equal
/// wave), and how much better it is than the first variant.
std::string sweep_table(const SweepResult& result);

}  // namespace qfs
