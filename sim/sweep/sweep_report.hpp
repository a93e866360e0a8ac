// A sweep as text: every point as CSV, and which variant is best where as a table.
#pragma once

#include <string>

#include "sim/sweep/sweep.hpp"

namespace qfs {

/// One line a point; refused points with the reason and no times.
std::string sweep_csv(const SweepResult& result);

/// For each notion of equality and value of all axes but the last two: a map with a row for each
/// value of the last axis but one and a column for each of the last; in it the variant with the
/// most tokens/s (waves differ: equal resident requests, equal memory) or the least TPOT (equal
/// wave), and how much better it is than the first variant.
std::string sweep_table(const SweepResult& result);

}  // namespace qfs
