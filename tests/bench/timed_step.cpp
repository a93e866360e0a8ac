// Host cost of a timed-only step of Qwen3-0.6B: it must not depend on the context.
#include <benchmark/benchmark.h>

#include <chrono>

#include "sim/run/isolate.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

/// Building the graph, elaborating the system and simulating it; the fork around it is not counted.
void timed_step(benchmark::State& state) {
  SystemConfig config;
  config.rules.shape = test::qwen3_0_6b();
  config.link.latency = Seconds(5e-6);
  config.graph = {BlockOrder::early_q,
                  CurrentToken::merge,
                  true,
                  {static_cast<std::size_t>(state.range(0))},
                  1};
  for (auto _ : state) {
    using Clock = std::chrono::steady_clock;
    const std::vector<SimulationResult> results = run_isolated(
        {[&config] {
          const Clock::time_point begin = Clock::now();
          SimulationResult result = simulate(config);
          // The host time travels in a row of its own.
          Row row;
          row.end = Femtoseconds(
              std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
          result.table.add(row);
          return result;
        }},
        1);
    state.SetIterationTime(static_cast<double>(results.front().table.rows.back().end.value()) *
                           1e-9);
  }
}
BENCHMARK(timed_step)
    ->Arg(1 << 10)
    ->Arg(1 << 20)
    ->Arg(16 << 20)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace qfs
