// A sweep: its points, which of them can be, what is held equal, and its file's mistakes.
#include "sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/run/run.hpp"
#include "sim/sweep/sweep_report.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

constexpr const char* run_text = R"(
name: base
model: {hidden: 64, layers: 2, heads: 8, kv_heads: 4, head_dim: 8, ffn: 96, vocab: 128}
block: standard
arrangement: two_device
workload: {batch: 4, context: 100, tokens: 3}
compute_device: {preset: ideal, bandwidth: 1 GB/s, launch_overhead: 1 us}
cache_device: {preset: ideal, bandwidth: 1 GB/s, capacity: 1.1 MB}
link: {latency: 2 us}
)";

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

SweepResult swept(const ConfigFolder& folder, const std::string& text) {
  folder.write("base.yaml", run_text);
  return run_sweep(load_sweep_config(folder.write("sweep.yaml", text)));
}

std::string complaint(const ConfigFolder& folder, const std::string& text) {
  try {
    swept(folder, text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "swept";
}

}  // namespace

TEST_CASE("a sweep has a point for every notion of equality, value and variant, in that order") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, sweep_text);
  REQUIRE(result.points.size() == 3 * 2 * 2 * 4);
  CHECK(result.points[0].equal == Equal::wave);
  CHECK(result.points[5].values == std::vector<std::size_t>{0, 1});
  CHECK(result.points[5].variant == 1);
  const std::string csv = sweep_csv(result);
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
  CHECK(point.times.step_us == Approx(to_microseconds(first)));
  CHECK(point.times.tpot_us == Approx(to_microseconds(last - first) / 2));
  CHECK(point.times.tokens_per_s == Approx(4e6 / point.times.tpot_us));
  CHECK(point.resident_kv == Bytes(4 * 1003 * 2 * (2 * 4 * 8 * 2)));
}

TEST_CASE(
    "equal resident requests divide the batch over the waves, or are refused with the reason") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, sweep_text);
  const auto at = static_cast<std::ptrdiff_t>(16);
  const std::vector<SweepPoint> resident(result.points.begin() + at,
                                         result.points.begin() + at + 4);
  CHECK(resident[0].batch == 4);
  CHECK(resident[2].batch == 0);
  CHECK(resident[2].refused == "4 resident requests are no whole number for each of 3 waves");
  CHECK(sweep_csv(result).find("no whole number") != std::string::npos);
}

TEST_CASE("the largest batch fits, and one more would not") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, sweep_text);
  // 1.1 MB over 1003 positions of 256 B in both layers: 4.28 requests; over 103 positions more than
  // the 8 that are simulated at most.
  CHECK(result.points[32 + 8].batch == 4);
  CHECK(result.points[32 + 8 + 2].batch == 1);  // of each of three waves
  CHECK(result.points[32].batch == 8);
  CHECK(result.points[32 + 2].batch == 2);  // of each of three waves
}

TEST_CASE("the table names the best variant and its gain over the first") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, sweep_text);
  const std::string table = sweep_table(result);
  const SweepPoint* best = &result.points[0];
  for (std::size_t i = 1; i < 4; ++i) {
    best = result.points[i].times.tpot_us < best->times.tpot_us ? &result.points[i] : best;
  }
  const double gain = result.points[0].times.tpot_us / best->times.tpot_us;
  CHECK(table.find(fmt::format("{} {:.2f}", result.config.variants[best->variant].name, gain)) !=
        std::string::npos);
  CHECK(table.find("largest batch that fits") != std::string::npos);
}

TEST_CASE("mistakes in a sweep file, and what is wrong with every variant") {
  const ConfigFolder folder;
  const std::string rest = "axes: {workload.context: [1]}\nvariants: {a: {block: standard}}\n";
  const std::string head = "name: s\nrun: base.yaml\n";
  CHECK(complaint(folder, head + rest) == "swept");
  CHECK(complaint(folder, "run: base.yaml\n" + rest).find("name: missing") != std::string::npos);
  CHECK(complaint(folder, head + "equals: [wave]\n" + rest).find("did you mean 'equal'") !=
        std::string::npos);
  CHECK(complaint(folder, head + "equal: [waves]\n" + rest).find("did you mean 'wave'") !=
        std::string::npos);
  CHECK(complaint(folder, head + "axes: {workload.context: 1}\nvariants: {a: {}}\n")
            .find("a list of values") != std::string::npos);
  CHECK(complaint(folder, head + "axes: {}\nvariants: {}\n").find("variants: none given") !=
        std::string::npos);
  CHECK(complaint(folder, head + "axes: {workload.contxt: [1]}\nvariants: {a: {}}\n")
            .find("did you mean 'context'") != std::string::npos);
  CHECK(complaint(folder, "name: s\nrun: none.yaml\n" + rest).find("no such file") !=
        std::string::npos);
}

}  // namespace qfs::test
