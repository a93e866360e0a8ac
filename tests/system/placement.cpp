// Who executes what, what goes together, and which results are urgent.
#include "system/placement.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

Program program_of(Arrangement arrangement, BlockOrder block, std::size_t requests,
                   CurrentToken current_token = CurrentToken::merge) {
  const GraphConfig graph{.block = block,
                          .current_token = current_token,
                          .contexts = std::vector<std::size_t>(requests, 9),
                          .tokens = 2};
  return make_program(make_graph(test::tiny_shape(), graph),
                      {test::tiny_shape(), {}, Accounting::full},
                      Layout({.arrangement = arrangement}), requests);
}

bool urgent(const Program& program, OpKind kind) {
  const auto& operations = program.graph.operations;
  const auto found = std::find_if(operations.begin(), operations.end(),
                                  [&](const Operation& op) { return op.kind == kind; });
  REQUIRE(found != operations.end());
  return program.awaited_elsewhere[found->id.value()];
}

}  // namespace

TEST_CASE("two devices: the cache device sweeps and appends, nothing else") {
  const Program program = program_of(Arrangement::two_device, BlockOrder::early_q, 1);
  for (const Operation& op : program.graph.operations) {
    const bool on_cache = is_of_sweep(op.kind) || op.kind == OpKind::append;
    CHECK(program.device_of[op.id.value()] == DeviceId(on_cache ? 1 : 0));
  }
  const Layout layout({.arrangement = Arrangement::two_device});
  REQUIRE(layout.devices().size() == 2);
  CHECK(layout.devices()[0].holdings.operations.contains(OpKind::ffn));
  CHECK(!layout.devices()[0].holdings.shard);
  CHECK(layout.devices()[1].holdings.operations ==
        std::set<OpKind>{OpKind::append, OpKind::sweep, OpKind::scores, OpKind::values});
  CHECK(layout.devices()[1].holdings.shard == std::size_t{0});
}

TEST_CASE("one device holds and does everything") {
  const Program program = program_of(Arrangement::colocated, BlockOrder::standard, 1);
  for (const DeviceId device : program.device_of) {
    CHECK(device == DeviceId(0));
  }
  CHECK(std::none_of(program.awaited_elsewhere.begin(), program.awaited_elsewhere.end(),
                     [](bool awaited) { return awaited; }));
}

TEST_CASE(
    "urgent is what another device awaits in this step, and a write that nothing waits on is not") {
  const Program merge = program_of(Arrangement::two_device, BlockOrder::early_q, 1);
  CHECK(urgent(merge, OpKind::q));
  CHECK(urgent(merge, OpKind::sweep));
  CHECK(!urgent(merge, OpKind::kv));
  CHECK(!urgent(merge, OpKind::ffn));
  const Program append =
      program_of(Arrangement::two_device, BlockOrder::early_q, 1, CurrentToken::append_first);
  CHECK(urgent(append, OpKind::kv));
}

TEST_CASE("a dropped edge is no longer waited for, but stays in the graph that is computed") {
  const Graph graph =
      make_graph(test::tiny_shape(), {.block = BlockOrder::early_q, .contexts = {9}});
  const CountingRules rules{test::tiny_shape(), {}, Accounting::full};
  const Layout layout({.arrangement = Arrangement::two_device});
  Fault fault;
  fault.kind = FaultKind::drop_edge;
  fault.layer = LayerId(1);
  fault.operation = OpKind::merge;
  fault.value = ValueKind::partial;
  const Program whole = make_program(graph, rules, layout, 1);
  const Program faulty = make_program(graph, rules, layout, 1, fault);
  std::size_t differing = 0;
  for (const Operation& op : graph.operations) {
    CHECK(faulty.graph[op.id].inputs == op.inputs);
    differing +=
        faulty.awaited_inputs[op.id.value()] != whole.awaited_inputs[op.id.value()] ? 1 : 0;
  }
  CHECK(differing == 1);
}

TEST_CASE("a fault that nothing could strike is refused") {
  const Graph graph =
      make_graph(test::tiny_shape(), {.block = BlockOrder::early_q, .contexts = {9}});
  Fault fault;
  fault.kind = FaultKind::wrong_weights;
  fault.operation = OpKind::qkv;  // does not exist in this graph
  CHECK_THROWS_AS(require_strikes(graph, Layout({.arrangement = Arrangement::two_device}), fault),
                  ConfigError);
  fault.operation = OpKind::ffn;
  CHECK_NOTHROW(require_strikes(graph, Layout({.arrangement = Arrangement::two_device}), fault));
}

}  // namespace qfs
