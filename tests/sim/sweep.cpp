// A sweep: its points, which of them can be, what is held equal, what is simulated once, and its
// tables.
#include "sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/report/point_analysis.hpp"
#include "sim/report/text.hpp"
#include "sim/run/run.hpp"
#include "sim/sweep/sweep_points.hpp"
#include "sim/sweep/sweep_report.hpp"
#include "tests/sim/sweep_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

constexpr const char* sweep_text = R"(
name: study
run: base.yaml
equal: [wave, resident, memory]
most_requests: 8
axes:
  workload.context: [100, 1000]
  link.latency: [1 us, 9 us]
variants:
  standard: {block: standard}
  early_q: {block: early_q}
  three waves: {block: early_q, workload.in_flight: 3}
  four ranks: {arrangement: tensor_parallel, tensor_parallel: {devices: 4}, cache_device: null}
)";

}  // namespace

TEST_CASE("a sweep has a point for every notion of equality, value and variant, in that order") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, sweep_text);
  REQUIRE(result.points.size() == 3 * 2 * 2 * 4);
  CHECK(result.points[0].equal == Equal::wave);
  CHECK(result.points[5].values == std::vector<std::size_t>{0, 1});
  CHECK(result.points[5].variant == 1);
  const std::string csv = results_csv(result);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 48);
}

TEST_CASE("a point of a sweep is the run with its overrides") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, sweep_text);
  const RunConfig config = load_run_config(folder.path() / "base.yaml",
                                           {"numerics.mode=off", "block=early_q", "crossovers=off",
                                            "workload.context=1000", "link.latency=9 us"});
  const RunResult run_result = run(config);
  Femtoseconds first;
  Femtoseconds last;
  for (const Row& row : run_result.points.at(0).table.rows) {
    if (row.is_operation() && row.op == OpKind::lm_head) {
      (row.step == StepId(0) ? first : last) = row.end;
    }
  }
  const SweepPoint& point = result.points[3 * 4 + 1];
  CHECK(point.figures.step_us == Approx(to_microseconds(first)));
  CHECK(point.figures.tpot_us == Approx(to_microseconds(last - first) / 2));
  CHECK(point.figures.tokens_per_s == Approx(4e6 / point.figures.tpot_us));
  CHECK(point.facts.resident_kv == Bytes(4 * 1003 * 2 * (2 * 4 * 8 * 2)));
}

TEST_CASE(
    "equal resident requests divide the batch over the waves, or are refused with the reason") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, sweep_text);
  const auto at = static_cast<std::ptrdiff_t>(16);
  const std::vector<SweepPoint> resident(result.points.begin() + at,
                                         result.points.begin() + at + 4);
  CHECK(resident[0].facts.batch == 4);
  CHECK(resident[2].facts.batch == 0);
  CHECK(resident[2].reason == "4 resident requests are no whole number for each of 3 waves");
  CHECK(results_csv(result).find("no whole number") != std::string::npos);
}

TEST_CASE("the largest batch fits, and one more would not") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, sweep_text);
  // 1.1 MB over 1003 positions of 256 B in both layers: 4.28 requests; over 103 positions more than
  // the 8 that are simulated at most.
  CHECK(result.points[32 + 8].facts.batch == 4);
  CHECK(result.points[32 + 8 + 2].facts.batch == 1);  // of each of three waves
  CHECK(result.points[32].facts.batch == 8);
  CHECK(result.points[32 + 2].facts.batch == 2);  // of each of three waves
}

TEST_CASE("the table names the best variant and its gain over the first") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, sweep_text);
  const std::string table = sweep_table(result);
  const SweepPoint* best = &result.points[0];
  for (std::size_t i = 1; i < 4; ++i) {
    best = result.points[i].figures.tpot_us < best->figures.tpot_us ? &result.points[i] : best;
  }
  const double gain = result.points[0].figures.tpot_us / best->figures.tpot_us;
  CHECK(table.find(fmt::format("{} {:.2f}", result.config.variants[best->variant].name, gain)) !=
        std::string::npos);
  CHECK(table.find("largest batch that fits") != std::string::npos);
}

TEST_CASE("points of one configuration share one simulation, and no others do") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, R"(
name: shared
run: base.yaml
equal: [wave, resident, memory]
most_requests: 8
axes: {workload.batch: [1, 2], link.latency: [1 us, 9 us]}
variants:
  standard: {block: standard}
  two waves: {block: standard, workload.in_flight: 2}
  one device: {arrangement: colocated, cache_device: null, link: null}
)");
  // Of the largest batch there is one, whatever batch is given: 2 x 4 x 3 points and 2 x 3.
  REQUIRE(result.points.size() == 30);
  // wave: two batches at two latencies of two variants, and two batches of one device, which has no
  // link. resident: two waves of one request each are there already; those of half a request cannot
  // be. memory: two latencies of two variants, and one device.
  CHECK(result.simulations == 4 + 4 + 2 + 0 + 2 + 2 + 1);
  for (const SweepPoint& point : result.points) {
    CAPTURE(name_of(point.equal), point.values, point.variant);
    const std::string batch = std::to_string(point.facts.batch);
    if (!point.ran()) {
      CHECK(point.equal == Equal::resident);
      continue;
    }
    std::vector<std::string> overrides{"numerics.mode=off", "crossovers=off",
                                       "workload.batch=" + batch};
    const std::string latency = result.config.axes[1].values[point.values[1]];
    overrides.push_back(point.variant == 2 ? "link=null" : "link.latency=" + latency);
    const std::vector<std::string>& own = result.config.variants[point.variant].overrides;
    overrides.insert(overrides.end(), own.begin(), own.end());
    const RunConfig config = load_run_config(folder.path() / "base.yaml", overrides);
    const std::vector<PointAnalysis> alone = analyse(run(config));
    CHECK(point.figures.step_us == Approx(to_microseconds(to_seconds(alone.at(0).step_time()))));
    CHECK(point.figures.tokens_per_s == Approx(alone.at(0).speed.tokens_per_s));
  }
}

TEST_CASE("few points are all in the table, many only in the maps") {
  const ConfigFolder folder;
  const std::string head = "name: s\nrun: base.yaml\n";
  const std::string one = "variants: {only: {block: early_q}}\n";
  const std::string two = "variants: {a: {block: standard}, b: {block: early_q}}\n";
  const SweepResult points = swept(folder, head + "axes: {workload.context: [7, 70]}\n" + one);
  const std::string table = sweep_table(points);
  CHECK(table.find("best variant") == std::string::npos);
  CHECK(table.find("exposed sweep us") != std::string::npos);
  CHECK(table.find("staged") == std::string::npos);  // nothing was
  for (const SweepPoint& point : points.points) {
    CHECK(table.find(microseconds_text(point.figures.step_us)) != std::string::npos);
    CHECK(table.find(grouped(point.figures.wire_bytes.value())) != std::string::npos);
  }
  const std::string both =
      sweep_table(swept(folder, head + "axes: {workload.context: [7, 70]}\n" + two));
  CHECK(both.find("every point") != std::string::npos);
  CHECK(both.find("best variant") != std::string::npos);
  std::string many = "1";
  for (std::size_t i = 2; i <= few_points / 4 + 1; ++i) {
    many += ", " + std::to_string(i);
  }
  const std::string maps = sweep_table(swept(
      folder, head + "axes: {workload.batch: [1, 2], workload.context: [" + many + "]}\n" + two));
  CHECK(maps.find("every point") == std::string::npos);
  CHECK(maps.find("best variant") != std::string::npos);
}

TEST_CASE("the table says how many points cannot be, and of which variant none can") {
  const ConfigFolder folder;
  const std::string table = sweep_table(swept(folder, R"(
name: s
run: base.yaml
axes: {workload.batch: [1, 2]}
variants: {a: {block: standard}, large: {workload.context: 100 k}}
)"));
  CHECK(table.find("2 of 4 points cannot be") != std::string::npos);
  CHECK(table.find("No point of large can be, the first because of") != std::string::npos);
  CHECK(table.find("No point of a ") == std::string::npos);
}

TEST_CASE("the shipped sweeps have no mistakes, and every variant of them can be somewhere") {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_dir() + "/configs/sweeps")) {
    CAPTURE(entry.path().string());
    const SweepConfig config = load_sweep_config(entry.path());
    CHECK(config.name == entry.path().stem());
    check_points(config);
    std::vector<std::size_t> runs(config.variants.size(), 0);
    const SweepSpace space(config);
    PointMaker maker(config);
    for (std::uint64_t index = 0; index < space.points(); ++index) {
      const SweepPoint point = space.at(index);
      if (runs[point.variant] == 0 && space.skipped_by(point) == nullptr) {
        try {
          maker.make(point);
          ++runs[point.variant];
        } catch (const ConfigError&) {
        }
      }
    }
    CHECK(std::count(runs.begin(), runs.end(), 0) == 0);
    ++files;
  }
  CHECK(files >= 5);
}

}  // namespace qfs::test
