#include <algorithm>
#include <cmath>
#include <iterator>
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

std::string answer_of(const RunResult& result) {
  const std::string table = table_of(result);
  return table.substr(table.find("\nAnswer"));
}

/// The first line that begins so.
std::string line_of(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find("\n" + begin) + 1;
  REQUIRE(at != 0);
  return text.substr(at, text.find('\n', at) - at);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

/// Lets the sweep of step 0 take so many units longer, and everything after it start later.
void lengthen_sweep(ExecutionTable& table, std::int64_t units) {
  const Femtoseconds sweep_end = at(60);
  for (Row& row : table.rows) {
    row.start += row.start >= sweep_end ? at(units) : at(0);
    row.end += row.end >= sweep_end ? at(units) : at(0);
  }
}

/// standard sweeps 30 units longer than early_q, with nothing beside it.
RunResult with_standard_slower() {
  RunResult result = hand_made_result();
  lengthen_sweep(result.points[1].table, 30);
  lengthen_sweep(result.points[3].table, 30);
  return result;
}

}  // namespace

TEST_CASE("the terminal report shows the run, its points and its crossovers") {
  const std::string table = table_of(hand_made_result());
  check_layout(table);
  CHECK(has(table, "tiny: 1 layer, hidden 8, 2 heads, 1 KV head,"));
  CHECK(has(table, "Numbers: PASS"));
  CHECK(has(table, "4,608"));
  CHECK(has(table, "16 Ki"));
  CHECK(has(table, "1.000x"));
  CHECK(has(table, "76.7 %"));  // 33 of 43 hidden
  CHECK(has(table, "early_q waits for: merge 0.002 us"));
  CHECK(has(table, "5,632.250"));
  CHECK(has(table, "from an empty cache on"));
  CHECK(has(table, "not reached"));
  CHECK(has(table, "early_q   Q-First; needs a model trained so: +0.0001 against swapped"));
  CHECK(has(table, "measured in arXiv:2608.15473"));
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
  CHECK(has(points, "\n> 4,608    early_q  "));     // 4,608 < 5,632.25; with numbers
  CHECK(has(points, "\n  16 Ki    early_q *  "));   // beyond
  CHECK(has(points, "\n           standard *  "));  // exposed from 0 on
}

TEST_CASE("a disagreement with the closed form is said") {
  RunResult result = hand_made_result();
  result.points[1].analytic.stack_time = Seconds(81e-9);
  const std::string table = table_of(result);
  CHECK(has(table, "DISAGREEMENT: at 1 of 4 points"));
  CHECK(has(table, "-1.23 % !"));
  result.config.link.jitter = Seconds(1e-9);
  CHECK_FALSE(has(table_of(result), "DISAGREEMENT"));
  CHECK(has(table_of(result), "closed form: without link jitter, so it is not expected to agree"));
}

TEST_CASE("a run without numbers says so") {
  RunResult result = hand_made_result();
  result.points[0].numerics.reset();
  result.config.numerics.mode = NumericsMode::off;
  CHECK(has(table_of(result), "Numbers: not computed"));
  result.config.numerics.mode = NumericsMode::full;
  CHECK(has(table_of(result), "Numbers: computed, not checked"));
}

TEST_CASE("what does not fit a line of the head goes on below") {
  RunResult result = hand_made_result();
  result.config.model.name = std::string(60, 'm');
  result.config.workload.in_flight = 1;
  const std::string table = table_of(result);
  check_layout(table);
  CHECK(has(table, "m: 1 layer, hidden 8,\n                 2 heads, 1 KV head, head 4, ffn 16\n"));
}

TEST_CASE("every arrangement has a head that fits, with all its devices") {
  RunResult result = hand_made_result();
  RunConfig& config = result.config;
  config.model.heads = config.model.kv_heads = 4;
  config.cache.split.devices = 1024;
  config.cache.split.merge = MergeOrder::arrival;
  config.pool = {1024, ProjectionsChoice::per_wave, Gather::request, Gather::ready, Seconds(1)};
  const auto head_of = [&](Arrangement arrangement) {
    config.arrangement = arrangement;
    const std::string table = table_of(result);
    check_layout(table);
    return table.substr(0, table.find("\n  formats"));
  };
  const std::string pooled = head_of(Arrangement::pooled);
  CHECK(has(pooled, "\n  pool           memory 1 TB/s"));
  CHECK(has(pooled, "\n  pool calls     1,024 instances, projections: cache_side (per_wave)\n"));
  CHECK(has(pooled, "\n  batching       launches request, sweeps ready, window 1e+06 us\n"));
  CHECK(
      has(pooled, "\n  cache split    1,024 cache devices, by positions, merged in arrival order"));
  const std::string two = head_of(Arrangement::two_device);
  CHECK(has(two, "\n  cache split    1,024"));
  CHECK_FALSE(has(two, "pool"));
  const std::string parallel = head_of(Arrangement::tensor_parallel);
  CHECK(has(parallel, "\n  parallel       2 devices, each with 2 heads, 2 KV heads, ffn 8, "));
  CHECK_FALSE(has(parallel, "cache device"));
  CHECK(has(parallel, "us one way"));
}

TEST_CASE("an injected fault is in the head of the report") {
  RunResult result = hand_made_result();
  result.config.numerics.inject = {FaultKind::swap_kv, LayerId(2), StepId(1)};
  CHECK(has(table_of(result), "swap_kv injected at layer 2, step 1"));
}

TEST_CASE("speed-ups are those of each row against standard, which has none") {
  const std::string table = table_of(with_standard_slower());
  check_layout(table);
  CHECK(has(table, "vs standard  step time of standard over that of this block"));
  const std::vector<std::string> early_q = cells_of(line_of(table, "  16 Ki    early_q"));
  CHECK(std::find(early_q.begin(), early_q.end(), "1.300x") != early_q.end());
  CHECK_FALSE(has(line_of(table, "           standard"), "x"));

  RunResult result = with_standard_slower();
  result.config.compare = {BlockOrder::swapped};
  CHECK(has(table_of(result), "vs early_q   step time of early_q over that of this block"));
}

TEST_CASE("the answer says how much faster, where it comes from and what is left") {
  const std::string answer = answer_of(with_standard_slower());
  check_layout(answer);
  CHECK(has(answer,
            "context 4,608, batch 1\n  Numbers: PASS (worst operation error 2.0e-03, end to "
            "end 3.0e-03)\n"));
  CHECK(has(answer, "early_q is 1.300x as fast as standard (0.100 us against 0.130 us a step)."));
  CHECK(has(answer,
            "Against standard it saves 0.030 us a step: 0.030 us of sweep no longer exposed."));
  CHECK(has(answer,
            "Still exposed in early_q: sweep 0.010 us, link 0.008 us, waiting 0.002 us, of "
            "0.100 us."));
  CHECK(has(answer, "early_q over standard by context: 1.300x at 4,608, 1.300x at 16 Ki."));
  CHECK(has(answer, "Crossover of early_q: up to 5,632 positions per request the sweep adds"));
  CHECK(has(answer, "Crossover of standard: none, the merge waits from an empty cache on."));
}

TEST_CASE("the answer says so where there is no gain, or a loss") {
  const std::string same = answer_of(hand_made_result());
  CHECK(has(same, "early_q and standard take the same time (0.100 us a step)."));
  CHECK(has(same, "early_q over standard by context: no gain at any context run."));
  CHECK_FALSE(has(same, "Against standard"));

  RunResult result = with_standard_slower();
  std::swap(result.points[0].table, result.points[1].table);
  const std::string loss = answer_of(result);
  CHECK(has(loss, "early_q is 1.300x slower than standard (0.130 us against 0.100 us a step)."));
  CHECK(has(loss, "Against standard it loses 0.030 us a step: 0.030 us more of exposed sweep."));
  CHECK(has(loss, "by context: 0.769x at 4,608, 1.300x at 16 Ki."));
}

TEST_CASE("of many contexts eight are named, with the first, the last and the best") {
  RunResult result = with_standard_slower();
  const PointResult early_q = result.points[2];
  const PointResult standard = result.points[3];
  for (std::size_t context = 1; context <= 30; ++context) {
    result.points.push_back(early_q);
    result.points.back().context = context;
    result.points.push_back(standard);
    result.points.back().context = context;
    lengthen_sweep(result.points.back().table, context == 29 ? 40 : 0);
  }
  const std::string answer = answer_of(result);
  const std::size_t begin = answer.find("by context:");
  const std::string gains = answer.substr(begin, answer.find(".\n", begin) + 1 - begin);
  check_layout(answer);
  CHECK(has(gains, "1.300x at 1,"));
  CHECK(has(gains, "1.700x at 29,"));
  CHECK(has(gains, "1.300x at 16 Ki."));
  CHECK(std::count(gains.begin(), gains.end(), ',') == 8 - 1);
}

TEST_CASE("an answer from wrong numbers begins with that") {
  RunResult result = hand_made_result();
  result.points[0].numerics->failures = {{OpKind::sweep, LayerId(7), StepId(0), RequestId(0), 0.5}};
  CHECK(has(answer_of(result),
            "batch 1\n  NUMBERS FAILED (early_q: sweep at layer 7, step 0, request 0): these"));

  result = hand_made_result();
  result.points[0].numerics->end_to_end[1].relative_error = std::nan("");
  CHECK(has(answer_of(result),
            "NUMBERS FAILED (early_q: end to end beyond its tolerance at step 1, "));

  result.points[0].numerics.reset();
  result.config.numerics.mode = NumericsMode::off;
  CHECK(has(answer_of(result), "batch 1\n  Numbers: not computed\n"));
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
  table.add({"x", "1234", ""}, '>');
  CHECK(table.text() == "  a      bb  c\n  xyz     1  yes\n\n> x    1234\n");
}
