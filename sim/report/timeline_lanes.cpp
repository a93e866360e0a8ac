#include "sim/report/timeline_lanes.hpp"

#include <algorithm>

namespace qfs {
namespace {

std::vector<RowId> rows_by_start(const ExecutionTable& table) {
  std::vector<RowId> order;
  for (const Row& row : table.rows) {
    order.push_back(row.id);
  }
  std::stable_sort(order.begin(), order.end(), [&](RowId a, RowId b) {
    return table.rows[a.value()].start < table.rows[b.value()].start;
  });
  return order;
}

/// The number of the first lane that is free at the row's start; that lane is then taken until its
/// end.
std::size_t take_lane(std::vector<Femtoseconds>& free_from, const Row& row) {
  auto lane = std::find_if(free_from.begin(), free_from.end(),
                           [&](Femtoseconds time) { return time <= row.start; });
  if (lane == free_from.end()) {
    lane = free_from.insert(free_from.end(), Femtoseconds(0));
  }
  *lane = row.end;
  return static_cast<std::size_t>(lane - free_from.begin());
}

}  // namespace

TimelineLanes assign_lanes(const ExecutionTable& table) {
  TimelineLanes assigned;
  assigned.drawing_order = rows_by_start(table);
  std::vector<std::vector<Femtoseconds>> free_from(table.resources.size(), {Femtoseconds(0)});
  std::vector<std::size_t> number_of_row(table.rows.size());
  for (const RowId id : assigned.drawing_order) {
    const Row& row = table.rows[id.value()];
    number_of_row[id.value()] = take_lane(free_from[row.resource], row);
  }
  std::vector<std::size_t> first_lane;
  for (std::size_t resource = 0; resource < free_from.size(); ++resource) {
    first_lane.push_back(assigned.lanes.size());
    for (std::size_t number = 0; number < free_from[resource].size(); ++number) {
      assigned.lanes.push_back({resource, number});
    }
  }
  for (const Row& row : table.rows) {
    assigned.lane_of_row.push_back(first_lane[row.resource] + number_of_row[row.id.value()]);
  }
  return assigned;
}

}  // namespace qfs
