// Host cost of a timed-only step of Qwen3-0.6B: it must not depend on the context.
#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>

#include "sim/config/dram_load.hpp"
#include "sim/run/achieved.hpp"
#include "sim/run/isolate.hpp"
#include "system/simulation.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

SystemConfig step_at(std::size_t context) {
  SystemConfig config;
  config.rules.shape = test::qwen3_0_6b();
  config.link.latency = Seconds(5e-6);
  config.graph = {BlockOrder::early_q, CurrentToken::merge, true, {context}, 1};
  return config;
}

/// Building the graph, elaborating the system and simulating it; the fork around it is not counted.
void time_step(benchmark::State& state, const SystemConfig& config) {
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
void timed_step(benchmark::State& state) {
  time_step(state, step_at(static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(timed_step)
    ->Arg(1 << 10)
    ->Arg(1 << 20)
    ->Arg(16 << 20)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// On both devices a stack of HBM3, simulated by rows and refreshes. The rates of long
/// reads are known, as they are to the simulations of a run or sweep (shared_rate_book).
void timed_step_stream(benchmark::State& state) {
  SystemConfig config = step_at(static_cast<std::size_t>(state.range(0)));
  for (DeviceConfig* device : {&config.compute_device, &config.cache_device}) {
    device->memory = MemoryTier::stream;
    device->dram = load_dram_named("hbm3-6400-q64");
  }
  RunConfig run;
  run.compute_device = config.compute_device;
  run.cache_device = config.cache_device;
  achieved_bandwidth(run);
  time_step(state, config);
}
BENCHMARK(timed_step_stream)
    ->Arg(1 << 10)
    ->Arg(1 << 20)
    ->Arg(16 << 20)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace qfs
