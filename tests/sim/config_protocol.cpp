// The keys of the protocol: prefetch, calibrated softmax, faults. What reaches the system, and what
// contradicts what.
#include <string>
#include <vector>

#include "sim/config/system_config.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

using Overrides = std::vector<std::string>;

SystemConfig system_with(const Overrides& overrides) {
  const ConfigFolder folder;
  const RunConfig run = load_run_config(folder.write("run.yaml", run_text()), overrides);
  return system_config(run, run.block, run.workload.context);
}

void check(const Overrides& overrides, const std::string& begins, const std::string& ends) {
  const ConfigFolder folder;
  check_message(folder.complaint(folder.write("run.yaml", run_text()), overrides), begins, ends);
}

/// All keys of the protocol, with none at its default.
const Overrides everything{
    "arrangement=pooled",
    "pool.instances=3",
    "faults.stalls={probability: 0.25, longest: 3 us, seed: 7}",
    "faults.slow=[{device: cache_device, factor: 2.5}, {device: pool_1, factor: 1}]",
    "faults.messages={lost: 0.1, late: 0.2, delay: 4 us, timeout: 50 us, seed: 9}",
    "faults.instances=[{instance: 2, at: 10 us}, {instance: 0, at: 1 us, for: 5 us}]",
    "faults.call_timeout=1 ms"};

}  // namespace

TEST_CASE("prefetch and append delay reach the cache devices") {
  const CachePolicy policy =
      system_with({"cache={append_delay: 2 us, prefetch: {ahead: 3, staging: 1 MiB, watermark: "
                   "late}}"})
          .cache;
  CHECK(policy.append_delay == Seconds(2e-6));
  CHECK(policy.prefetch.ahead == 3);
  CHECK(policy.prefetch.staging == Bytes(1 << 20));
  CHECK(policy.prefetch.watermark == Watermark::late);
}

TEST_CASE("the softmax reaches graph and devices alike") {
  const SystemConfig system =
      system_with({"attention={score_buffer: 4 KiB, softmax: {unit: fwm, intervals: 8, "
                   "reconstruction: nearest, tau: 3.5, calibration: row}}"});
  const SoftmaxChoice& softmax = system.graph.softmax;
  CHECK(softmax.unit.kind == SoftmaxKind::fwm);
  CHECK(softmax.unit.intervals == 8);
  CHECK(softmax.unit.reconstruction == Reconstruction::nearest);
  CHECK(softmax.unit.tau == 3.5);
  CHECK(softmax.calibration == Calibration::row);
  CHECK(system.rules.attention.softmax == softmax);
  CHECK(system.rules.attention.score_buffer == Bytes(4096));
}

TEST_CASE("faults reach the system") {
  const Disturbances faults = system_with(everything).disturbances;
  CHECK(faults.stalls.probability == 0.25);
  CHECK(faults.stalls.longest == Seconds(3e-6));
  CHECK(faults.stalls.seed == 7);
  REQUIRE(faults.slow.size() == 2);
  CHECK(faults.slow[0].device == "cache_device");
  CHECK(faults.slow[0].factor == 2.5);
  CHECK(faults.slow[1].device == "pool_1");
  CHECK(faults.messages.lost == 0.1);
  CHECK(faults.messages.late == 0.2);
  CHECK(faults.messages.delay == Seconds(4e-6));
  CHECK(faults.messages.timeout == Seconds(50e-6));
  CHECK(faults.messages.seed == 9);
  REQUIRE(faults.instances.size() == 2);
  CHECK(faults.instances[0].instance == 2);
  CHECK(faults.instances[0].at == Seconds(10e-6));
  CHECK_FALSE(faults.instances[0].duration.has_value());
  CHECK(faults.instances[1].duration == Seconds(5e-6));
  CHECK(faults.call_timeout == Seconds(1e-3));
}

TEST_CASE("the resolved configuration holds the protocol's keys") {
  const ConfigFolder folder;
  Overrides overrides = everything;
  overrides.emplace_back("attention.softmax={unit: resolved, tau: 4}");
  const RunConfig run = load_run_config(folder.write("run.yaml", run_text()), overrides);
  const std::string text = to_yaml(run);
  const RunConfig again = load_run_config(folder.write("resolved.yaml", text));
  CHECK(to_yaml(again) == text);
  CHECK(again.faults.slow[1].device == "pool_1");
  CHECK(again.faults.instances[1].duration == Seconds(5e-6));
  CHECK(again.attention.softmax.unit.tau == 4);
}

TEST_CASE("values out of the protocol's ranges are refused") {
  check({"cache.prefetch.watermark=of"},
        "--set cache.prefetch.watermark=of: cache.prefetch.watermark: 'of'",
        "; legal: on, late, off; did you mean 'off'?");
  check({"cache.prefetch.ahead=-1"}, "--set cache.prefetch.ahead=-1: cache.prefetch.ahead: '-1'",
        " from 0 to 4096");
  check({"attention.softmax.tau=0"}, "--set attention.softmax.tau=0: attention.softmax.tau: '0'",
        "; legal: a number from 1e-06 to 1000000, without a unit");
  check({"attention.softmax.tau=1e39"}, "--set attention.softmax.tau=1e39: attention.softmax.tau",
        "; legal: a number from 1e-06 to 1000000, without a unit");
  check({"attention.softmax.intervals=0"}, "--set attention.softmax.intervals=0",
        "; legal: a whole number from 1 to 16 Mi");
  check({"attention.softmax.unit=minmax"}, "--set attention.softmax.unit=minmax",
        "; did you mean 'min_max'?");
  check({"faults.stalls.probability=1.5"}, "--set faults.stalls.probability=1.5",
        "; legal: a number from 0 to 1");
  check({"faults.messages.lost=1"}, "--set faults.messages.lost=1",
        "; legal: a number from 0 to below 1");
  check({"faults.messages.timeout=0 s"}, "--set faults.messages.timeout=0 s", "; or never");
  check({"faults.slow=3"}, "--set faults.slow=3: faults.slow: '3'",
        "; legal: a list in brackets, each item a map of keys");
  check({"faults.slow=[3]"}, "--set faults.slow=[3]: faults.slow: '3'", "; legal: a map of keys");
  check({"faults.slow=[{devcie: a}]"},
        "--set faults.slow=[{devcie: a}]: faults.slow.devcie: unknown key",
        "; legal: device, factor; did you mean 'device'?");
  check({"faults.slow=[{device: cache_device}]"},
        "--set faults.slow=[{device: cache_device}]: faults.slow.factor: missing",
        "; legal: a number from 1, without a unit");
  check({"faults.slow=[{device: cache_device, factor: 0.5}]"},
        "--set faults.slow=[{device: cache_device, factor: 0.5}]: faults.slow.factor: '0.5'",
        "; legal: a number from 1, without a unit");
}

TEST_CASE("faults that the system does not have are refused") {
  check({"faults.slow=[{device: cache_device_1, factor: 2}]"},
        "--set faults.slow=[{device: cache_device_1, factor: 2}]: faults.slow: no device "
        "'cache_device_1'",
        "; legal: compute_device, cache_device");
  check({"faults.messages.lost=0.1"},
        "--set faults.messages.lost=0.1: faults.messages.timeout: never",
        "; legal: a time, since with messages.lost 0.1 nobody would repeat a lost message");
  check({"faults.instances=[{instance: 0, at: 1 us, for: 1 us}]"},
        "--set faults.instances=[{instance: 0, at: 1 us, for: 1 us}]: faults.instances: given, but "
        "only a stateless pool has instances",
        "; legal: [] with other arrangements than pooled");
  check({"faults.call_timeout=1 us"},
        "--set faults.call_timeout=1 us: faults.call_timeout: given, but only a pool is called",
        "; legal: never with other arrangements than pooled");
  const std::string twice =
      "faults.slow=[{device: cache_device, factor: 2}, {device: cache_device, factor: 3}]";
  check({twice}, "--set " + twice + ": faults.slow: 'cache_device' twice",
        "; legal: each device once");
  const std::string lossy = "faults.messages={lost: 0.1, timeout: 9 us}";
  check({"arrangement=colocated", "cache_device=null", "link=null", lossy},
        "--set " + lossy + ": faults.messages: given, but one device sends no messages",
        "; legal: nothing here with arrangement colocated");
  const std::string dies = "faults.instances=[{instance: 0, at: 1 us}]";
  check({"arrangement=pooled", dies}, "--set " + dies + ": faults.call_timeout: never",
        "; legal: a time, since nobody would notice that an instance has died");
  const std::string third = "faults.instances=[{instance: 2, at: 1 us, for: 1 us}]";
  check({"arrangement=pooled", third}, "--set " + third + ": faults.instances: instance 2",
        "; legal: below pool.instances (1)");
  check({"faults={messages: {lost: 0.9999, timeout: 1 s}}"},
        "--set faults=", "since the clock counts femtoseconds in 64 bits");
}

TEST_CASE("what a calibrated softmax cannot go with is refused") {
  const std::string unit = "attention.softmax.unit=min_max";
  const std::string row = "attention.softmax.calibration=row";
  check({row}, "--set " + row + ": attention.softmax.calibration: row, but unit exact has no grid",
        "; legal: history with attention.softmax.unit exact");
  check({unit, row, "current_token=append_first"},
        "--set " + row + ": attention.softmax.calibration: row, but with current_token",
        "; legal: history with append_first");
  check({unit, "attention.form=transposed_k"},
        "--set attention.form=transposed_k: attention.form: transposed_k, with unit min_max",
        "; legal: minimal with any unit but exact");
  check({unit, "cache.prefetch.ahead=2"},
        "--set cache.prefetch.ahead=2: cache.prefetch.ahead: 2, with unit min_max",
        "; legal: 0 with any unit but exact");
  check({"attention.score_buffer=1 KiB"},
        "--set attention.score_buffer=1 KiB: attention.score_buffer: 1 KiB, but unit exact keeps "
        "no scores",
        "; legal: unlimited with attention.softmax.unit exact");
  check({unit, "attention.score_buffer=1 KiB", "accounting=weights_and_sweep"},
        "--set attention.score_buffer=1 KiB: attention.score_buffer: 1 KiB, but accounting",
        "; legal: unlimited, or accounting full");
}

TEST_CASE("blocks are staged for the minimal form alone") {
  check({"attention.form=transposed_k", "cache.prefetch.ahead=2"},
        "--set cache.prefetch.ahead=2: cache.prefetch.ahead: 2, with attention.form transposed_k",
        "; legal: 0 with any form but minimal");
}

TEST_CASE("prefetch and append delay are two_device's") {
  check({"arrangement=pooled", "cache.prefetch.ahead=2"},
        "--set cache.prefetch.ahead=2: cache.prefetch.ahead: 2",
        "; legal: 0 with arrangement pooled");
  check({"arrangement=pooled", "cache.append_delay=1 us"},
        "--set cache.append_delay=1 us: cache.append_delay: 1 us",
        "; legal: 0 s with arrangement pooled");
}

}  // namespace qfs::test
