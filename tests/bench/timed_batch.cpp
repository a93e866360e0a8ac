// Host cost of a timed-only step with many requests of different contexts on a pool and eight cache
// devices: it must grow with requests and layers, and no faster.
#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>
#include <vector>

#include "sim/run/isolate.hpp"
#include "system/simulation.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

SystemConfig pooled_batch(std::size_t requests, std::size_t layers) {
  SystemConfig config;
  config.arrangement = Arrangement::pooled;
  config.link.latency = Seconds(5e-6);
  config.rules.shape = test::qwen3_0_6b();
  config.rules.shape.layers = layers;
  std::vector<std::size_t> contexts;
  for (std::size_t request = 0; request < requests; ++request) {
    contexts.push_back(1024 + 37 * request);
  }
  config.graph = {.block = BlockOrder::early_q,
                  .contexts = contexts,
                  .split = {.devices = 8},
                  .fuse_qkv = false};
  return config;
}

/// Building the graph, elaborating the system and simulating it; the fork around it is not counted.
void timed_batch(benchmark::State& state) {
  const SystemConfig config = pooled_batch(static_cast<std::size_t>(state.range(0)),
                                           static_cast<std::size_t>(state.range(1)));
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
BENCHMARK(timed_batch)
    ->ArgNames({"requests", "layers"})
    ->Args({64, 28})
    ->Args({128, 28})
    ->Args({256, 7})
    ->Args({256, 14})
    ->Args({256, 28})
    ->Args({512, 28})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace qfs
