// The crossovers of `pooled` (DESIGN.md 7), straight from simulated tables: where both sides are
// busy equally long, and from which context on a token takes longer.
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr double printed = 1e-6;

std::vector<ExecutionTable> tables_at(const ModelShape& shape, double latency_us,
                                      const std::vector<std::size_t>& contexts) {
  std::vector<std::function<SimulationResult()>> tasks;
  for (const std::size_t context : contexts) {
    const SystemConfig config = test::system_config(
        test::ideal(shape, BlockOrder::early_q, context, latency_us), Arrangement::pooled);
    tasks.emplace_back([config] { return simulate(config); });
  }
  std::vector<ExecutionTable> tables;
  for (SimulationResult& result : run_isolated(tasks, default_jobs())) {
    tables.push_back(std::move(result.table));
  }
  return tables;
}

/// How long each executor works, by name.
std::map<std::string, Femtoseconds> busy(const ExecutionTable& table) {
  std::map<std::string, Femtoseconds> busy;
  for (const Row& row : table.rows) {
    const Resource& resource = table.resources[row.resource];
    if (resource.kind == ResourceKind::executor) {
      busy[resource.name] += row.end - row.start;
    }
  }
  return busy;
}

/// Below the crossover a step does not depend on the context; beyond it each position costs its
/// sweep in every layer. `crossover` is between the second and the third context.
void check_latency_crossover(const ModelShape& shape, double latency_us, double crossover) {
  const auto below = static_cast<std::size_t>(std::floor(crossover));
  const std::vector<ExecutionTable> tables =
      tables_at(shape, latency_us, {below / 2, below, below + 1, below + 101});
  std::vector<double> us;
  for (const ExecutionTable& table : tables) {
    us.push_back(to_microseconds(test::last_output(table, StepId(0))));
  }
  const double position_us = static_cast<double>(shape.layers) * 4096 / 1e6;  // at 1 TB/s
  CAPTURE(crossover, latency_us);
  CHECK(us[1] == Approx(us[0]).epsilon(1e-12));
  CHECK(us[3] - us[2] == Approx(100 * position_us).epsilon(printed));
  const double beyond = (us[2] - us[1]) / position_us;  // positions from the crossover to the third
  CHECK(static_cast<double>(below + 1) - beyond == Approx(crossover).margin(1e-3));
}

}  // namespace

TEST_CASE("pooled: both sides are busy equally long at 3,584 and 28,800 positions") {
  for (const auto& [shape, context] :
       {std::pair{test::qwen3_0_6b(), 3584U}, std::pair{test::qwen3_4b(), 28800U}}) {
    for (const double latency_us : {0.0, 5.0}) {
      const std::vector<ExecutionTable> tables =
          tables_at(shape, latency_us, {context - 1, context, context + 1});
      const auto pool = [&](std::size_t i) { return busy(tables[i]).at("pool"); };
      const auto cache = [&](std::size_t i) { return busy(tables[i]).at("cache_device"); };
      CHECK(pool(0) > cache(0));
      CHECK(pool(1) == cache(1));
      CHECK(pool(2) < cache(2));
    }
  }
}

TEST_CASE("pooled: a token takes longer from the latency crossovers on") {
  check_latency_crossover(test::qwen3_0_6b(), 0, 4608);
  check_latency_crossover(test::qwen3_4b(), 0, 33920);
  check_latency_crossover(test::qwen3_0_6b(), 5, 7049.406);
  check_latency_crossover(test::qwen3_4b(), 5, 36361.406);
}

}  // namespace qfs
