// Devices with measured kernels: what their presets give, and what cannot stand beside them.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/cost_load.hpp"
#include "sim/config/load.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

std::string run_of(const char* device) {
  return "name: kernels\nmodel: qwen3-0.6b\nblock: early_q\narrangement: two_device\n"
         "workload: {batch: 2, context: 100, tokens: 1}\ncompute_device: " +
         std::string(device) +
         "\ncache_device: {bandwidth: 1 TB/s}\nlink: ideal\nnumerics: {mode: \"off\"}\n";
}

RunConfig load(const std::vector<std::string>& overrides, const char* device = "h100") {
  const ConfigFolder folder;
  return load_run_config(folder.write("run.yaml", run_of(device)), overrides);
}

std::string complaint(const std::vector<std::string>& overrides) {
  const ConfigFolder folder;
  return folder.complaint(folder.write("run.yaml", run_of("h100")), overrides);
}

}  // namespace

TEST_CASE("each fitted device has a preset with its kernels, cold") {
  for (const char* name : {"a100", "h100", "h200", "b200", "l40s"}) {
    CAPTURE(name);
    const DeviceConfig device = load({}, name).compute_device;
    REQUIRE(device.kernels);
    CHECK(device.kernels->device == name);
    CHECK(device.last_level_cache == CacheState::cold);
    CHECK(device.launch_overhead == Seconds(0));
    CHECK(device.capacity);
    // What the kernels reach of the memory is no more than there is.
    CHECK(device.kernels->cost.sweep->bandwidth <= device.bandwidth);
    CHECK(device.kernels->cost.product->bandwidth <= device.bandwidth);
    const FittedDevice fitted = load_fitted_named(name);
    CHECK(to_yaml(fitted) == to_yaml(*device.kernels));
  }
}

TEST_CASE("a resolved configuration holds the kernels whole") {
  const ConfigFolder folder;
  const RunConfig run = load({"compute_device.last_level_cache=warm"});
  const RunConfig again = load_run_config(folder.write("again.yaml", to_yaml(run)), {});
  CHECK(to_yaml(again) == to_yaml(run));
  CHECK(again.compute_device.kernels->cost.sweep->launch ==
        run.compute_device.kernels->cost.sweep->launch);
  CHECK(again.compute_device.last_level_cache == CacheState::warm);
}

TEST_CASE("one number of a fitted kernel can be moved, the others stay") {
  const RunConfig run = load({"compute_device.kernels.sweep.launch=20 us"});
  FittedDevice expected = load_fitted_named("h100");
  expected.cost.sweep->launch = Seconds(20e-6);
  CHECK(to_yaml(*run.compute_device.kernels) == to_yaml(expected));
  CHECK_FALSE(load({"compute_device.kernels=none"}).compute_device.kernels);
  CHECK_FALSE(load({"compute_device.kernels.narrow_product=none"})
                  .compute_device.kernels->cost.narrow_product);
}

TEST_CASE("what no kernel was measured with is refused beside kernels") {
  struct Mistake {
    std::vector<std::string> overrides;
    const char* key;
    const char* legal;
  };
  const std::vector<Mistake> mistakes{
      {{"compute_device.launch_overhead=2 us"}, "compute_device.launch_overhead", "0 s"},
      {{"compute_device={preset: h100, memory: stream, dram: hbm2, bandwidth: null, capacity: "
        "null}"},
       "compute_device",
       ""},
      {{"numerics.weight_dtype=int8"}, "numerics.weight_dtype", "16 bits"},
      {{"numerics.kv_dtype=fp32"}, "numerics.kv_dtype", "16 bits"},
      {{"attention.form=transposed_k"}, "attention.form", "minimal"},
      {{"attention.softmax.unit=min_max"}, "attention.softmax.unit", "exact"},
      {{"cache.prefetch.ahead=2"}, "cache.prefetch.ahead", "0 with"},
      {{"compute_device.kernels=h10"}, "compute_device.kernels", "h100"},
      {{"compute_device.last_level_cache=lukewarm"}, "last_level_cache", "cold"},
      {{"compute_device.kernels.sweep.lanch=2 us"}, "lanch", "launch"}};
  for (const Mistake& mistake : mistakes) {
    const std::string text = complaint(mistake.overrides);
    CAPTURE(mistake.overrides, text);
    CHECK(text.find(mistake.key) != std::string::npos);
    CHECK(text.find(mistake.legal) != std::string::npos);
  }
}

}  // namespace qfs::test
