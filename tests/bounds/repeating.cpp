// A few layers that stand for all of a stack against every layer by itself: seeded random runs in
// every arrangement, figure by figure.
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/config/load.hpp"
#include "sim/run/isolate.hpp"
#include "sim/sweep/figures_archive.hpp"
#include "sim/sweep/point_figures.hpp"
#include "tests/bounds/drawn_run.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs {
namespace {

constexpr std::uint64_t cases = 160;

/// Ideal memories, and more layers than a few.
RunConfig repeating_run(std::uint64_t number) {
  RunConfig run = test::drawn_run(number);
  run.model.layers = 12 + number % 37;
  run.link.jitter = Seconds(0);
  run.compute_device.memory = run.cache_device.memory = MemoryTier::ideal;
  return run;
}

using Figures = std::vector<std::optional<PointFigures>>;

/// By a few layers, where these stand for all, and by all: two for each run.
Figures both_ways(const std::vector<RunConfig>& runs) {
  std::vector<std::function<Figures()>> tasks;
  for (const RunConfig& run : runs) {
    for (const bool by_few : {true, false}) {
      tasks.emplace_back([&run, by_few] {
        const TimedRun timed{&run, by_few};
        return timed_figures(std::span(&timed, 1));
      });
    }
  }
  Figures all;
  for (const Figures& one : run_isolated(tasks, default_jobs())) {
    all.push_back(one.at(0));
  }
  return all;
}

}  // namespace

TEST_CASE("160 random runs: layers that repeat take the time of all, to the femtosecond") {
  std::vector<RunConfig> runs;
  for (std::uint64_t number = 0; number < cases; ++number) {
    runs.push_back(repeating_run(number));
    REQUIRE(may_repeat(runs.back()));
  }
  const Figures figures = both_ways(runs);
  std::uint64_t repeating = 0;
  for (std::uint64_t number = 0; number < cases; ++number) {
    const RunConfig& run = runs.at(number);
    const std::optional<PointFigures>& few = figures.at(2 * number);
    const PointFigures& all = figures.at(2 * number + 1).value();
    CAPTURE(number, name_of(run.arrangement), name_of(run.block), run.model.layers);
    CHECK(all.simulated_layers == run.model.layers);
    if (!few) {
      continue;
    }
    ++repeating;
    CHECK(few->simulated_layers == with_few_layers(run).model.layers);
    CHECK(few->step_us == all.step_us);
    CHECK(few->tpot_us == all.tpot_us);
    CHECK(few->worst_tpot_us == all.worst_tpot_us);
    CHECK(few->tokens_per_s == all.tokens_per_s);
    CHECK(few->exposed_sweep_us == all.exposed_sweep_us);
    CHECK(few->exposed_link_us == all.exposed_link_us);
    CHECK(few->wire_bytes == all.wire_bytes);
  }
  WARN(repeating << " of " << cases << " repeat");
  CHECK(repeating >= cases * 3 / 4);
}

}  // namespace qfs
