// How much of the time a set of intervals covers.
#pragma once

#include <vector>

#include "base/units.hpp"

namespace qfs {

/// [from, to)
struct Interval {
  Femtoseconds from;
  Femtoseconds to;
};

/// Time inside `window` that lies in at least one interval. O(n log n).
Femtoseconds covered_time(std::vector<Interval> intervals, const Interval& window);
/// The same with no window.
Femtoseconds covered_time(std::vector<Interval> intervals);

}  // namespace qfs
