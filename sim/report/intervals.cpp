#include "sim/report/intervals.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace qfs {

Femtoseconds covered_time(std::vector<Interval> intervals, const Interval& window) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.from < b.from; });
  Femtoseconds covered{0};
  Femtoseconds reached = window.from;
  for (const Interval& interval : intervals) {
    const Femtoseconds from = std::max(interval.from, reached);
    const Femtoseconds to = std::min(interval.to, window.to);
    if (from < to) {
      covered += to - from;
      reached = to;
    }
  }
  return covered;
}

Femtoseconds covered_time(std::vector<Interval> intervals) {
  using Limits = std::numeric_limits<std::int64_t>;
  return covered_time(std::move(intervals),
                      {Femtoseconds(Limits::min()), Femtoseconds(Limits::max())});
}

}  // namespace qfs
