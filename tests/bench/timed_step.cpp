// Host cost of a timed-only step of Qwen3-0.6B: it must not depend on the context.
#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>

#include "sim/run/isolate.hpp"
#include "system/simulation.hpp"
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
    const std::function<double()> step = [&config] {
      using Clock = std::chrono::steady_clock;
      const Clock::time_point begin = Clock::now();
      benchmark::DoNotOptimize(simulate(config));
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    state.SetIterationTime(run_isolated<double>({step}, 1).front());
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
