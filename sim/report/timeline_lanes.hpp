// Which thread of the timeline a row is drawn on.
#pragma once

#include <cstddef>
#include <vector>

#include "hardware/execution_table.hpp"

namespace qfs {

struct TimelineLane {
  std::size_t resource = 0;
  std::size_t number = 0;  // 0 for the resource's first lane
};

struct TimelineLanes {
  std::vector<TimelineLane> lanes;  // by resource, then number; a resource without rows has one
  std::vector<std::size_t> lane_of_row;  // by row, index into `lanes`
  std::vector<RowId> drawing_order;      // by start, then row
};

/// Each row on the first lane of its resource that is free again; rows of one lane never overlap.
TimelineLanes assign_lanes(const ExecutionTable& table);

}  // namespace qfs
