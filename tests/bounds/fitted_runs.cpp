// Whole runs on devices with measured kernels: against the closed forms, which know the kernels'
// sizes from the shape alone, and against a sum by hand.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "sim/config/load.hpp"
#include "sim/report/steps.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/points.hpp"
#include "sim/run/serialize.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

RunConfig loaded(const std::vector<std::string>& overrides) {
  const test::ConfigFolder folder;
  return load_run_config(folder.write("run.yaml",
                                      "name: fitted\nmodel: qwen3-0.6b\nblock: early_q\n"
                                      "arrangement: two_device\n"
                                      "workload: {batch: 3, context: 700, tokens: 2}\n"
                                      "compute_device: h100\ncache_device: l40s\n"
                                      "link: {latency: 5 us, bandwidth: 50 GB/s}\n"
                                      "numerics: {mode: \"off\"}\n"),
                         overrides);
}

ExecutionTable simulated(const RunConfig& run) {
  const SystemConfig system = system_config(run, run.block, run.workload.context);
  const std::function<ExecutionTable()> task = [&] { return simulate(system).table; };
  return run_isolated<ExecutionTable>({task}, 1).front();
}

using Overrides = std::vector<std::string>;

const Overrides one_device{"arrangement=colocated", "cache_device=null", "link=null"};

Overrides with(Overrides overrides, const Overrides& more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

/// Of all waves, in order.
std::vector<Seconds> simulated_steps(const RunConfig& run) {
  const ExecutionTable table = simulated(run);
  std::vector<Seconds> steps;
  const RequestSteps requests = request_steps(table, run.workload.requests());
  for (std::size_t wave = 0; wave < run.workload.in_flight; ++wave) {
    for (const StepTime& step :
         wave_steps(std::span(requests).subspan(wave * run.workload.batch, run.workload.batch))) {
      steps.push_back(to_seconds(step.end));
    }
  }
  return steps;
}

std::vector<Seconds> closed_steps(const RunConfig& run) {
  const auto times = closed_form(run, run.block, run.workload.context);
  REQUIRE(times);
  std::vector<Seconds> steps;
  for (const std::vector<Seconds>& wave : times->wave_step_ends) {
    steps.insert(steps.end(), wave.begin(), wave.end());
  }
  return steps;
}

}  // namespace

TEST_CASE("runs on fitted devices take the closed form's time in every arrangement") {
  const std::vector<Overrides> cases{
      {},
      {"block=standard", "cache_device=h200"},
      {"block=parallel", "workload.in_flight=3", "cache_device=b200"},
      {"numerics.kv_dtype=fp8_e4m3", "numerics.weight_dtype=fp8_e5m2"},
      {"cache.devices=3", "cache.split=positions", "workload.lm_head=false"},
      {"cache.devices=2", "cache.split=heads", "current_token=append_first"},
      {"workload.request_contexts=[0, 5, 4000]"},
      {"arrangement=pooled", "cache_device=a100"},
      {"arrangement=pooled", "pool.projections=pool", "block=early_k"},
      {"arrangement=tensor_parallel", "tensor_parallel.devices=4", "cache_device=null"},
      with(one_device, {"block=standard", "compute_device.last_level_cache=warm"}),
      with(one_device, {"compute_device=b200", "workload.batch=64", "workload.context=2000"}),
      // Only one of the two is fitted.
      {"cache_device={bandwidth: 273 GB/s, launch_overhead: 3 us}"},
      {"compute_device={bandwidth: 3 TB/s, mac_rate: 400 TMAC/s}"},
      {"faults.slow=[{device: cache_device, factor: 1.5}]", "workload.tokens=1"}};
  for (const Overrides& overrides : cases) {
    CAPTURE(overrides);
    const RunConfig run = loaded(overrides);
    RunConfig told = run;  // the closed form knows no faults
    for (const SlowDevice& slow : run.faults.slow) {
      told.cache_device.kernels->cost = slowed(told.cache_device.kernels->cost, slow.factor);
      told.cache_device.bandwidth =
          BytesPerSecond(told.cache_device.bandwidth.value() / slow.factor);
    }
    const std::vector<Seconds> simulation = simulated_steps(run);
    const std::vector<Seconds> closed = closed_steps(told);
    REQUIRE(simulation.size() == closed.size());
    for (std::size_t i = 0; i < closed.size(); ++i) {
      CAPTURE(i);
      CHECK(simulation[i].value() == Approx(closed[i].value()).epsilon(1e-9));
    }
  }
}

TEST_CASE("a step of Llama-3.1-8B on an H100 is the sum of its kernels") {
  for (const auto& [batch, context] : {std::pair(8, 1024), std::pair(128, 2048)}) {
    CAPTURE(batch, context);
    const RunConfig run = loaded(
        with(one_device, {"model=llama-3.1-8b", "block=standard", "current_token=append_first",
                          "workload.tokens=1", "workload.batch=" + std::to_string(batch),
                          "workload.context=" + std::to_string(context)}));
    const DeviceCost& cost = run.compute_device.kernels->cost;
    const auto product = [&](std::int64_t n, std::int64_t k) {
      return launch_time(cost, ProductWork{batch, n, k, 2}, CacheState::cold).value();
    };
    // Heads 32, KV heads 8, head 128, hidden 4096, ffn 14336, vocabulary 128256, 32 layers; the
    // current token is in the cache.
    const double sweep =
        launch_time(cost, SweepWork{batch, 32, 8, 128, context + 1, 2}, CacheState::cold).value();
    const double append = batch * 2.0 * 8 * 128 * 2 / 3.35e12;  // before each sweep
    const double layer = product(4096 + 2 * 1024, 4096) + append + sweep + product(4096, 4096) +
                         product(2 * 14336, 4096) + product(4096, 14336);
    CHECK(simulated_steps(run).front().value() ==
          Approx(32 * layer + product(128256, 4096)).epsilon(1e-9));
  }
}

TEST_CASE("a fitted device without numbers is the ideal one without bandwidth") {
  const RunConfig ideal = loaded(with(
      one_device, {"compute_device={bandwidth: 1 TB/s, kernels: {device: none-fitted, product: "
                   "{units: 1, bandwidth: 1 TB/s}, sweep: {units: 1, bandwidth: 1 TB/s}}}"}));
  const RunConfig plain = loaded(with(one_device, {"compute_device={bandwidth: 1 TB/s}"}));
  // Kernels count the inputs of a product once and their results with two bytes, and no residual:
  // a few per mille beside the weights.
  CHECK(simulated_steps(ideal).front().value() ==
        Approx(simulated_steps(plain).front().value()).epsilon(0.005));
}

}  // namespace qfs
