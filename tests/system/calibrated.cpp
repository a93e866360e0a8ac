// The two phases of a calibrated sweep on simulated devices: where they run, what they wait for,
// and that a schedule that does not wait is caught.
#include <algorithm>
#include <optional>
#include <string>

#include "system/simulation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr Seconds latency(2e-6);

struct Setup {
  SoftmaxChoice softmax = {{.kind = SoftmaxKind::min_max}, Calibration::history};
  CacheSplit split = {};
  BlockOrder block = BlockOrder::early_q;
  std::optional<ValueKind> dropped = {};  // of the values of layer 1, in step 1
};

SimulationResult run(const Setup& setup) {
  const ModelShape shape = test::tiny_shape();
  SystemConfig config;
  config.link.latency = latency;
  config.compute_device.launch_overhead = Seconds(1e-6);
  config.cache_device.launch_overhead = Seconds(1e-6);
  config.rules = {shape, {}, Accounting::full, {.softmax = setup.softmax}};
  config.graph = {.block = setup.block,
                  .contexts = {33, 33},
                  .tokens = 2,
                  .split = setup.split,
                  .softmax = setup.softmax};
  if (setup.dropped) {
    config.fault = {FaultKind::drop_edge, LayerId(1), StepId(1), OpKind::values, *setup.dropped};
  }
  const Inputs inputs({shape, {}, 5, {33, 33}, 2, true});
  const NumericRequest request{inputs};
  return simulate(config, &request);
}

const Row& row_of(const ExecutionTable& table, OpKind kind, std::size_t shard) {
  const auto found = std::ranges::find_if(table.rows, [&](const Row& row) {
    return row.is_operation() && row.op == kind && row.layer == LayerId(1) && row.shard == shard &&
           row.step == StepId(1);
  });
  REQUIRE(found != table.rows.end());
  return *found;
}

/// "resource: number of messages" of those that carry a value, in the order of the resources.
std::string routes(const ExecutionTable& table, ValueKind value) {
  std::string text;
  for (std::size_t resource = 0; resource < table.resources.size(); ++resource) {
    const auto messages = std::ranges::count_if(table.rows, [&](const Row& row) {
      return row.is_message() && row.resource == resource &&
             std::ranges::count(row.carries, value) > 0;
    });
    if (messages > 0) {
      text += table.resources[resource].name + ": " + std::to_string(messages) + "; ";
    }
  }
  return text;
}

void check_caught(const Setup& setup) {
  const SimulationResult result = run(setup);
  REQUIRE(result.numerics.has_value());
  REQUIRE(!result.numerics->failures.empty());
  CHECK(result.numerics->failures.front().kind == OpKind::values);
  CHECK(result.numerics->failures.front().layer == LayerId(1));
  CHECK(result.numerics->failures.front().step == StepId(1));
}

}  // namespace

// One case a simulation: SystemC allows one in a process.
TEST_CASE("calibrated: one cache device runs both phases on end, without a message between") {
  const SimulationResult result = run({});
  REQUIRE(result.numerics->passed());
  const ExecutionTable& table = result.table;
  const Row& scores = row_of(table, OpKind::scores, 0);
  const Row& values = row_of(table, OpKind::values, 0);
  CHECK(scores.resource == values.resource);
  CHECK(values.start == scores.end);
  CHECK(scores.members.size() == 2);
  CHECK(routes(table, ValueKind::extrema).empty());
  CHECK(routes(table, ValueKind::scores).empty());
  CHECK(routes(table, ValueKind::weight).empty());
}

TEST_CASE("calibrated: holders of a row exchange extrema directly, a latency between the phases") {
  const SimulationResult result = run({.split = {2, SplitBy::positions}});
  REQUIRE(result.numerics->passed());
  const ExecutionTable& table = result.table;
  // Three layers, two steps.
  CHECK(routes(table, ValueKind::extrema) ==
        "link.from_cache_device_0: 6; link.from_cache_device_1: 6; ");
  const Femtoseconds last =
      std::max(row_of(table, OpKind::scores, 0).end, row_of(table, OpKind::scores, 1).end);
  const Femtoseconds first =
      std::min(row_of(table, OpKind::scores, 0).end, row_of(table, OpKind::scores, 1).end);
  const Femtoseconds way = to_femtoseconds(latency);
  CHECK(std::max(row_of(table, OpKind::values, 0).start, row_of(table, OpKind::values, 1).start) ==
        last + way);
  CHECK(std::min(row_of(table, OpKind::values, 0).start, row_of(table, OpKind::values, 1).start) ==
        std::max(first + way, last));
}

TEST_CASE("calibrated: row sends the key to every holder of the row, the value to one") {
  const SimulationResult result =
      run({.softmax = {{.kind = SoftmaxKind::min_max}, Calibration::row},
           .split = {2, SplitBy::positions}});
  REQUIRE(result.numerics->passed());
  const ExecutionTable& table = result.table;
  CHECK(routes(table, ValueKind::k) == "link.to_cache_devices: 12; ");
  CHECK(routes(table, ValueKind::v) == "link.to_cache_devices: 6; ");
  CHECK(routes(table, ValueKind::weight) == "link.to_compute_device: 6; ");
  CHECK(routes(table, ValueKind::partial) == "link.to_compute_device: 12; ");
  // early_q makes the key after the feed-forward.
  CHECK(row_of(table, OpKind::values, 0).start ==
        row_of(table, OpKind::kv, 0).end + to_femtoseconds(latency));
}

TEST_CASE("calibrated: row under early_qk has the key before the first phase is over") {
  const SimulationResult result =
      run({.softmax = {{.kind = SoftmaxKind::fp8_exp}, Calibration::row},
           .block = BlockOrder::early_qk});
  REQUIRE(result.numerics->passed());
  const ExecutionTable& table = result.table;
  const Femtoseconds way = to_femtoseconds(latency);
  const Row& values = row_of(table, OpKind::values, 0);
  CHECK(row_of(table, OpKind::k, 0).end <= row_of(table, OpKind::ffn, 0).start);
  CHECK(values.start ==
        std::max(row_of(table, OpKind::scores, 0).end, row_of(table, OpKind::k, 0).end + way));
  CHECK(values.start < row_of(table, OpKind::ffn, 0).end);
}

TEST_CASE("calibrated: split by heads there is nothing to exchange") {
  const SimulationResult result =
      run({.softmax = {{.kind = SoftmaxKind::min_max}, Calibration::row},
           .split = {2, SplitBy::heads}});
  REQUIRE(result.numerics->passed());
  CHECK(routes(result.table, ValueKind::extrema).empty());
  CHECK(routes(result.table, ValueKind::weight) == "link.to_compute_device: 12; ");
  const auto& resources = result.table.resources;
  CHECK(std::ranges::count(resources, ResourceKind::link, &Resource::kind) == 2);
}

TEST_CASE("calibrated, caught: values that do not wait for the others' extrema") {
  check_caught({.split = {2, SplitBy::positions}, .dropped = ValueKind::extrema});
}
TEST_CASE("calibrated, caught: values of a row that do not wait for its key") {
  check_caught(
      {.softmax = {{.kind = SoftmaxKind::min_max}, Calibration::row}, .dropped = ValueKind::k});
}

}  // namespace qfs
