// What a sweep keeps of a point, against tables that one adds up by hand and against the report of
// the same run.
#include <cmath>
#include <limits>

#include "sim/report/point_analysis.hpp"
#include "sim/run/run.hpp"
#include "sim/sweep/point_figures.hpp"
#include "sim/sweep/sweep_report.hpp"
#include "tests/sim/report_support.hpp"
#include "tests/sim/sweep_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

Row staging_row(RowKind kind, std::int64_t start, std::int64_t end) {
  Row row;
  row.kind = kind;
  row.op = OpKind::sweep;
  row.members = {{RequestId(0), StepId(0)}};
  row.resource = cache;
  row.start = at(start);
  row.end = at(end);
  return row;
}

/// The step ends of each request, one operation each.
ExecutionTable table_of_ends(const std::vector<std::vector<std::int64_t>>& ends) {
  ExecutionTable table;
  table.resources = two_device_resources();
  for (std::size_t request = 0; request < ends.size(); ++request) {
    for (std::size_t step = 0; step < ends[request].size(); ++step) {
      Row row;
      row.op = OpKind::ffn;
      row.step = StepId(step);
      row.members = {{RequestId(request), StepId(step)}};
      row.start = at(ends[request][step] - 1);
      row.end = at(ends[request][step]);
      table.add(row);
    }
  }
  return table;
}

RunConfig config_of(std::size_t batch, std::size_t in_flight) {
  RunConfig config = hand_made_config();
  config.workload.batch = batch;
  config.workload.in_flight = in_flight;
  return config;
}

}  // namespace

TEST_CASE("figures of the hand-made table") {
  const PointFigures figures = figures_of(config_of(1, 1), two_steps());
  CHECK(figures.step_us == Approx(0.100));  // [0, 100]
  CHECK(figures.tpot_us == Approx(0.070));  // [100, 170]
  CHECK(figures.worst_tpot_us == Approx(0.070));
  CHECK(figures.tokens_per_s == Approx(1 / 70e-9));
  CHECK(figures.exposed_sweep_us == Approx(0.010));  // 50..60
  CHECK(figures.exposed_link_us == Approx(0.008));   // 60..68
  CHECK(figures.wire_bytes == Bytes(2 + 4 + 3));     // of step 0; step 1 sends 2 + 3
  CHECK(figures.blocks_staged == 0);
  CHECK(figures.blocks_stale == 0);
  CHECK(figures.tail_fetch_us == 0);
  CHECK_FALSE(figures.errors);
}

TEST_CASE("staged blocks are counted, the stale among them, and what fetching their tails takes") {
  ExecutionTable table = two_steps();
  table.add(staging_row(RowKind::prefetch, 0, 15));
  table.add(staging_row(RowKind::prefetch, 62, 70));
  table.add(staging_row(RowKind::prefetch, 150, 160));
  table.add(staging_row(RowKind::tail_fetch, 68, 70));
  table.add(staging_row(RowKind::tail_fetch, 120, 125));
  const PointFigures figures = figures_of(config_of(1, 1), table);
  CHECK(figures.blocks_staged == 3);
  CHECK(figures.blocks_stale == 2);
  CHECK(figures.tail_fetch_us == Approx(0.007));
  // The fetch of 68..70 stands between the partial result and the merge: it is sweep, exposed. The
  // prefetches are not.
  CHECK(figures.exposed_sweep_us == Approx(0.012));
  CHECK(figures.step_us == Approx(0.100));
}

TEST_CASE("requests of one wave and of two, whose tokens take unequally long") {
  const ExecutionTable table = table_of_ends({{10, 30, 50}, {20, 30, 40}});
  const PointFigures two_waves = figures_of(config_of(1, 2), table);
  CHECK(two_waves.step_us == Approx(0.010));  // of the first wave
  CHECK(two_waves.tpot_us == Approx(0.015));  // of 20 and 10
  CHECK(two_waves.worst_tpot_us == Approx(0.020));
  CHECK(two_waves.tokens_per_s == Approx(1 / 20e-9 + 1 / 10e-9));
  const PointFigures one_wave = figures_of(config_of(2, 1), table);
  CHECK(one_wave.step_us == Approx(0.020));  // when both are there
  CHECK(one_wave.tpot_us == Approx(0.015));
}

TEST_CASE("of a single token the step is the time of a token") {
  const PointFigures figures = figures_of(config_of(1, 2), table_of_ends({{10}, {40}}));
  CHECK(figures.tpot_us == Approx(0.025));
  CHECK(figures.worst_tpot_us == Approx(0.040));
  CHECK(figures.tokens_per_s == Approx(1 / 10e-9 + 1 / 40e-9));
}

TEST_CASE("errors are the worst of all operations and steps, and the first failure") {
  const PointErrors passed = errors_of(BlockOrder::early_q, passed_report());
  CHECK(passed.operation == 2e-3);
  CHECK(passed.end_to_end == 3e-3);
  CHECK(passed.failure.empty());
  NumericReport failed = passed_report();
  failed.failures = {{OpKind::sweep, LayerId(7), StepId(1), RequestId(0), 0.5}};
  CHECK(errors_of(BlockOrder::swapped, failed).failure ==
        "swapped: sweep at layer 7, step 1, request 0");
}

TEST_CASE("a sweep with numbers has for each point the errors that its run reports") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, R"(
name: numbers
run: base.yaml
numerics: on
axes: {numerics.kv_dtype: [bf16, int8]}
variants: {standard: {block: standard}, early_q: {block: early_q}}
)");
  const std::vector<std::string> formats{"bf16", "int8"};
  for (const SweepPoint& point : result.points) {
    REQUIRE(point.figures.errors);
    const std::vector<std::string>& own = result.config.variants[point.variant].overrides;
    const RunConfig config = load_run_config(
        folder.path() / "base.yaml",
        {"crossovers=off", "numerics.kv_dtype=" + formats[point.values[0]], own[0]});
    const RunResult run_result = run(config);
    double end_to_end = 0;
    for (const EndToEndError& error : run_result.points.at(0).numerics->end_to_end) {
      end_to_end = std::max(end_to_end, error.relative_error);
    }
    CHECK(end_to_end > 0);
    CHECK(point.figures.errors->end_to_end == end_to_end);
    CHECK(point.figures.errors->failure.empty());
    const PointAnalysis alone = analyse(run_result).at(0);
    CHECK(point.figures.step_us == Approx(to_microseconds(to_seconds(alone.step_time()))));
    CHECK(point.figures.exposed_sweep_us ==
          Approx(to_microseconds(to_seconds(alone.ledger().sweep_exposed))));
    CHECK(point.figures.exposed_link_us ==
          Approx(to_microseconds(to_seconds(alone.ledger().link_exposed))));
  }
  const std::string table = sweep_table(result);
  CHECK(table.find("end to end") != std::string::npos);
  CHECK(table.find("pass") != std::string::npos);
  CHECK(results_csv(result).find(",passed,") != std::string::npos);
}

TEST_CASE("blocks staged for the next layer are never stale, those for the next token always") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, R"(
name: stale
run: base.yaml
axes: {cache.prefetch.ahead: [0, 1, 2]}
variants: {early_q: {block: early_q, workload.context: 10}}
)");
  const std::vector<SweepPoint>& points = result.points;
  CHECK(points.at(0).figures.blocks_staged == 0);
  // Three tokens of two layers. Two sweeps ahead is the same layer of the next token, staged once
  // this one's has begun, before its row is appended: all but the first token's are stale. (A copy
  // takes 5 us; if it took long, later ones would begin after the append.)
  CHECK(points.at(1).figures.blocks_staged == 6);
  CHECK(points.at(1).figures.blocks_stale == 0);
  CHECK(points.at(1).figures.tail_fetch_us == 0);
  CHECK(points.at(2).figures.blocks_staged == 6);
  CHECK(points.at(2).figures.blocks_stale == 4);
  // A row of each of four requests: 2 x 4 heads x 8 values x 2 B at 1 GB/s.
  CHECK(points.at(2).figures.tail_fetch_us == Approx(4 * 4 * 0.128));
  CHECK(sweep_table(result).find("tail fetch us") != std::string::npos);
}

TEST_CASE("what a softmax unit costs: nothing if exact, the less the finer its grid") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, R"(
name: units
run: base.yaml
numerics: on
axes: {attention.softmax.intervals: [1, 16, 256, 65536]}
variants:
  exact: {workload.lm_head: false}
  min_max: {workload.lm_head: false, attention.softmax.unit: min_max}
  with an LM head: {attention.softmax.unit: min_max}
)");
  double coarser = 1;
  for (std::size_t i = 0; i < result.points.size(); i += 3) {
    CHECK(result.points[i].figures.errors->softmax == 0.0);
    const double error = result.points[i + 1].figures.errors->softmax.value();
    CHECK(error < coarser);
    // A straight line between two points h apart is off by at most h^2 / 8 of the larger, and h is
    // a score's span, some 10 at most, over K: a weight's relative error, of which the output's is
    // a fraction.
    const double h = 10 / std::stod(result.config.axes[0].values[i / 3]);
    CHECK(error < std::max(h * h, 1e-12));
    coarser = error;
    CHECK_FALSE(result.points[i + 2].figures.errors->softmax);
  }
  CHECK(coarser > 0);
}

}  // namespace qfs::test
