#include <algorithm>
#include <sstream>

#include "sim/report/block_note.hpp"
#include "sim/report/report.hpp"
#include "sim/report/text_table.hpp"
#include "tests/sim/report_support.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

bool has(const std::string& text, const std::string& part) {
  INFO("looking for: " << part << "\nin:\n" << text);
  return text.find(part) != std::string::npos;
}

std::string table_of(const RunResult& result) { return make_report(result, "yaml").table; }

/// ASCII, at most 100 columns, no spaces at the end of a line.
void check_layout(const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    INFO(line);
    CHECK(line.size() <= 100);
    CHECK(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    CHECK_FALSE((!line.empty() && line.back() == ' '));
  }
}

}  // namespace

TEST_CASE("the terminal report shows the run, its points and its crossovers") {
  const std::string table = table_of(hand_made_result());
  check_layout(table);
  CHECK(has(table, "tiny: 1 layers"));
  CHECK(has(table, "Numbers: PASS"));
  CHECK(has(table, "4,608"));
  CHECK(has(table, "16 Ki"));
  CHECK(has(table, "1.000x"));
  CHECK(has(table, "76.7 %"));  // 33 of 43 hidden
  CHECK(has(table, "early_q waits for: merge 0.002 us"));
  CHECK(has(table, "5,632.250"));
  CHECK(has(table, "from an empty cache on"));
  CHECK(has(table, "not reached"));
  CHECK(has(table, "+0.0001 bits per byte against swapped"));
  CHECK(has(table, "runs an existing checkpoint unchanged"));
  CHECK(has(table, "Legend"));
  CHECK_FALSE(has(table, "DISAGREEMENT"));
  CHECK_FALSE(has(table, "FAULT"));
}

TEST_CASE("large numbers stay within the columns") {
  RunResult result = hand_made_result();
  for (PointResult& point : result.points) {
    point.context = point.context == 4608 ? 4608 : std::size_t{16} << 20U;
    for (Row& row : point.table.rows) {
      row.start = Femtoseconds(row.start.value() * 4'000'000);
      row.end = Femtoseconds(row.end.value() * 4'000'000);
    }
  }
  check_layout(table_of(result));
}

TEST_CASE("rows beyond the block's latency crossover are marked") {
  const std::string table = table_of(hand_made_result());
  const std::size_t steps = table.find("\nSteps\n");
  const std::string points = table.substr(steps, table.find("Where the first step") - steps);
  CHECK(has(points, "4,608    early_q  "));     // 4,608 < 5,632.25
  CHECK(has(points, "16 Ki    early_q *  "));   // beyond
  CHECK(has(points, "         standard *  "));  // exposed from 0 on
}

TEST_CASE("a disagreement with the closed form is said") {
  RunResult result = hand_made_result();
  result.points[1].analytic.stack_time = Seconds(81e-9);
  const std::string table = table_of(result);
  CHECK(has(table, "DISAGREEMENT: at 1 of 4 points"));
  CHECK(has(table, "-1.23 % !"));
  result.config.link.jitter = Seconds(1e-9);
  CHECK_FALSE(has(table_of(result), "DISAGREEMENT"));
}

TEST_CASE("a run without numbers says so") {
  RunResult result = hand_made_result();
  result.points[0].numerics.reset();
  result.config.numerics.mode = NumericsMode::off;
  CHECK(has(table_of(result), "Numbers: not computed"));
  result.config.numerics.mode = NumericsMode::full;
  CHECK(has(table_of(result), "Numbers: computed, not checked"));
}

TEST_CASE("an injected fault is in the head of the report") {
  RunResult result = hand_made_result();
  result.config.numerics.inject = {FaultKind::swap_kv, LayerId(2), StepId(1)};
  CHECK(has(table_of(result), "swap_kv injected at layer 2, step 1"));
}

TEST_CASE("a colocated run has one device and no link") {
  RunResult result = hand_made_result();
  result.config.arrangement = Arrangement::colocated;
  const std::string table = table_of(result);
  CHECK_FALSE(has(table, "cache device   "));
  CHECK_FALSE(has(table, "us one way"));
}

TEST_CASE("every block order has a note") {
  for (const auto& [block, name] : enum_names<BlockOrder>) {
    CHECK_FALSE(block_note_text(block).empty());
  }
}

TEST_CASE("text tables align their columns") {
  TextTable table("lrl", {"a", "bb", "c"});
  table.add({"xyz", "1", "yes"});
  table.gap();
  table.add({"x", "1234", ""});
  CHECK(table.text() == "  a      bb  c\n  xyz     1  yes\n\n  x    1234\n");
}
