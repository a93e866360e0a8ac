// What was done in vain: rows that only served what was lost or dropped are no part of a step.
#include <vector>

#include "system/disturbed.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

Row row_after(const std::vector<std::size_t>& deps, RowFate fate) {
  Row row;
  row.fate = fate;
  for (const std::size_t dep : deps) {
    row.deps.push_back({RowId(dep), Femtoseconds(0)});
  }
  return row;
}

}  // namespace

TEST_CASE("rows that only served what was dropped or lost are dropped") {
  ExecutionTable table;
  table.add(row_after({}, RowFate::used));         // 0: serves 1 and 2
  table.add(row_after({0}, RowFate::used));        // 1: a message that serves 3 alone
  table.add(row_after({0}, RowFate::used));        // 2: the same to who was asked first
  table.add(row_after({1}, RowFate::used));        // 3: a launch that serves 4 and 5
  table.add(row_after({3}, RowFate::dropped));     // 4: a reply that came too late
  table.add(row_after({3}, RowFate::lost));        // 5
  table.add(row_after({2}, RowFate::used));        // 6: nothing depends on it: the end of the step
  table.add(row_after({3, 2}, RowFate::dropped));  // 7
  drop_what_was_in_vain(table);
  const std::vector<RowFate> expected{RowFate::used,    RowFate::dropped, RowFate::used,
                                      RowFate::dropped, RowFate::dropped, RowFate::lost,
                                      RowFate::used,    RowFate::dropped};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(table.rows[i].fate == expected[i]);
  }
}

}  // namespace qfs
