// Whole runs on DRAM: the fast tier against the command-level one, both against the closed forms
// between which they have to lie, and their bytes against the table of executed operations.
#include <algorithm>
#include <functional>
#include <vector>

#include "sim/config/dram_load.hpp"
#include "sim/report/dram_use.hpp"
#include "sim/report/steps.hpp"
#include "sim/run/crossover_search.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/points.hpp"
#include "sim/run/serialize.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

struct Case {
  Arrangement arrangement = Arrangement::two_device;
  const char* compute = "hbm3-6400-q64";
  const char* cache = "ddr5-4800";
  std::size_t batch = 1;
  std::size_t context = 300;
  std::size_t tokens = 1;
  std::size_t parts = 1;
  BlockOrder block = BlockOrder::early_q;
};

RunConfig run_of(const Case& c, MemoryTier tier) {
  RunConfig run;
  run.model = test::qwen3_0_6b();
  run.model.layers = 4;
  run.arrangement = c.arrangement;
  run.block = c.block;
  run.workload.batch = c.batch;
  run.workload.context = c.context;
  run.workload.tokens = c.tokens;
  run.workload.lm_head = false;
  run.numerics.mode = NumericsMode::off;
  const auto make = [&](DeviceConfig& device, const char* preset) {
    device.memory = tier;
    device.dram = load_dram_named(preset);
    device.dram_parts = c.parts;
    device.bandwidth =
        BytesPerSecond(static_cast<double>(c.parts) * dram::peak_bandwidth(*device.dram).value());
  };
  make(run.compute_device, c.compute);
  make(run.cache_device, c.cache);
  return run;
}

ExecutionTable simulated(const RunConfig& run) {
  const SystemConfig system = system_config(run, run.block, run.workload.context);
  const std::function<ExecutionTable()> task = [&] { return simulate(system).table; };
  return run_isolated<ExecutionTable>({task}, 1).front();
}

Seconds first_step(const RunConfig& run, const ExecutionTable& table) {
  return to_seconds(request_steps(table, run.workload.requests()).front().front().length());
}

const Case cases[] = {
    {},
    {.cache = "lpddr5-6400", .context = 120},
    {.cache = "gddr6-14000", .context = 1000, .tokens = 3},
    {.compute = "gddr6-14000", .cache = "hbm3-6400-q64", .batch = 3, .context = 700},
    {.arrangement = Arrangement::colocated, .batch = 2, .tokens = 2},
    {.arrangement = Arrangement::pooled, .cache = "hbm2", .batch = 2, .context = 500, .parts = 3},
    {.arrangement = Arrangement::tensor_parallel, .compute = "ddr4-3200"},
    {.compute = "hbm3e", .cache = "hbm3e", .context = 3000, .block = BlockOrder::standard}};

}  // namespace

TEST_CASE("runs by rows take the time of runs command by command") {
  for (const Case& c : cases) {
    CAPTURE(name_of(c.arrangement), c.compute, c.cache, c.context);
    const RunConfig fast = run_of(c, MemoryTier::stream);
    const RunConfig exact = run_of(c, MemoryTier::burst);
    const double by_rows = first_step(fast, simulated(fast)).value();
    const double by_command = first_step(exact, simulated(exact)).value();
    constexpr double tolerance = 0.01;
    CAPTURE(by_rows / by_command - 1);
    CHECK(by_rows == Approx(by_command).epsilon(tolerance));
  }
}

TEST_CASE("no run on DRAM is faster than the closed form at the peak bandwidth") {
  for (const Case& c : cases) {
    CAPTURE(name_of(c.arrangement), c.compute, c.cache, c.context);
    const RunConfig run = run_of(c, MemoryTier::stream);
    const Seconds step = first_step(run, simulated(run));
    const auto peak = closed_form(run, run.block, run.workload.context);
    REQUIRE(peak);
    CHECK(step.value() >= peak->step_times.front().value());
  }
}

TEST_CASE("long operations on DRAM take what long reads of it take") {
  Case c;
  c.context = 20000;
  c.cache = "hbm3-6400-q64";
  const RunConfig run = run_of(c, MemoryTier::stream);
  const Seconds step = first_step(run, simulated(run));
  const auto achieved = achieved_bandwidth(run);
  REQUIRE(achieved);
  const auto times = closed_form(at_achieved(run, *achieved), run.block, run.workload.context);
  CHECK(step.value() == Approx(times->step_times.front().value()).epsilon(0.01));
}

TEST_CASE("a memory moves what the table says, in whole bursts") {
  for (const Case& c : cases) {
    for (const MemoryTier tier : {MemoryTier::stream, MemoryTier::burst}) {
      CAPTURE(name_of(c.arrangement), c.compute, c.cache, name_of(tier));
      const RunConfig run = run_of(c, tier);
      const ExecutionTable table = simulated(run);
      const std::vector<DramUse> uses = dram_use_of(run, table);
      REQUIRE_FALSE(uses.empty());
      for (const DramUse& use : uses) {
        double charged = 0;
        double streams = 0;
        for (const Row& row : table.rows) {
          if (table.resources[row.resource].name.starts_with(use.device) && !row.is_message()) {
            charged += static_cast<double>(row.work.memory_bytes().value());
            streams += 2 + 2.0 * static_cast<double>(row.members.size()) * 16;  // rows of a head
          }
        }
        // Ends of a stream or row that fill no burst, on each part.
        const double ends = 2 * 64 * streams * static_cast<double>(c.parts);
        CHECK(static_cast<double>(use.moved.value()) >= charged);
        CHECK(static_cast<double>(use.moved.value()) <= charged + ends);
      }
    }
  }
}

TEST_CASE("crossovers on DRAM lie near the closed form at what its long reads get") {
  Case c;
  c.cache = "lpddr5-6400";
  RunConfig run = run_of(c, MemoryTier::stream);
  run.model.ffn = 9728;  // of Qwen3-4B: longer operations
  run.model.hidden = 2560;
  for (const Crossover& crossover : find_crossovers(run)) {
    CAPTURE(name_of(crossover.kind), crossover.simulated);
    REQUIRE(crossover.state == CrossoverState::found);
    REQUIRE(crossover.achieved);
    CHECK(crossover.simulated == Approx(*crossover.achieved).epsilon(0.015));
    CHECK(static_cast<double>(crossover.first_beyond) >= crossover.simulated);
    CHECK(static_cast<double>(crossover.first_beyond) <= crossover.simulated + 1);
  }
}

}  // namespace qfs
