// The whole system with real numbers in it, small: right when it is right, and caught when it is
// not.
#include "system/simulation.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr Formats exact{Format::fp32, Format::fp32, Format::fp32};

struct Setup {
  Arrangement arrangement = Arrangement::two_device;
  BlockOrder block = BlockOrder::early_q;
  CurrentToken current_token = CurrentToken::merge;
  Formats formats{};
  std::vector<std::size_t> contexts{33, 33};
  std::size_t tokens = 3;
  bool lm_head = true;
  Fault fault{};
  double launch_us = 1;
  double cache_bytes_per_s = 1e12;
};

SimulationResult run(const Setup& setup) {
  const ModelShape shape = test::tiny_shape();
  SystemConfig config;
  config.arrangement = setup.arrangement;
  config.compute_device.launch_overhead = Seconds(setup.launch_us * 1e-6);
  config.cache_device.launch_overhead = Seconds(setup.launch_us * 1e-6);
  config.cache_device.bandwidth = BytesPerSecond(setup.cache_bytes_per_s);
  config.link.latency = Seconds(2e-6);
  config.rules = {shape, setup.formats, Accounting::full};
  config.graph = {.block = setup.block,
                  .current_token = setup.current_token,
                  .lm_head = setup.lm_head,
                  .contexts = setup.contexts,
                  .tokens = setup.tokens};
  config.fault = setup.fault;
  const Inputs inputs({shape, setup.formats, 5, setup.contexts, setup.tokens, setup.lm_head});
  const NumericRequest request{inputs};
  return simulate(config, &request);
}

Fault fault_of(FaultKind kind) {
  Fault fault{};
  fault.kind = kind;
  fault.layer = LayerId(1);
  return fault;
}

/// The check must fail first at this operation of layer 1.
void check_caught(const Setup& setup, OpKind first, std::size_t step = 0) {
  const SimulationResult result = run(setup);
  REQUIRE(result.numerics.has_value());
  CHECK(!result.numerics->passed());
  REQUIRE(!result.numerics->failures.empty());
  CHECK(result.numerics->failures.front().kind == first);
  CHECK(result.numerics->failures.front().layer == LayerId(1));
  CHECK(result.numerics->failures.front().step == StepId(step));
}

void check_right(const Setup& setup) {
  const SimulationResult result = run(setup);
  REQUIRE(result.numerics.has_value());
  CHECK(result.numerics->passed());
  CHECK(result.numerics->failures.empty());
  CHECK(result.numerics->end_to_end.size() == setup.contexts.size() * setup.tokens);
}

}  // namespace

// One case a simulation: SystemC allows one in a process.
TEST_CASE("standard on two devices") { check_right({.block = BlockOrder::standard}); }
TEST_CASE("swapped on two devices") { check_right({.block = BlockOrder::swapped}); }
TEST_CASE("early_q on two devices") { check_right({.block = BlockOrder::early_q}); }
TEST_CASE("standard on one device") {
  check_right({.arrangement = Arrangement::colocated, .block = BlockOrder::standard});
}
TEST_CASE("early_q on one device") { check_right({.arrangement = Arrangement::colocated}); }
TEST_CASE("append_first, standard") {
  check_right({.block = BlockOrder::standard, .current_token = CurrentToken::append_first});
}
TEST_CASE("append_first, early_q") { check_right({.current_token = CurrentToken::append_first}); }
TEST_CASE("append_first on one device") {
  check_right({.arrangement = Arrangement::colocated,
               .block = BlockOrder::swapped,
               .current_token = CurrentToken::append_first});
}
TEST_CASE("an empty cache: the first token") { check_right({.contexts = {0}, .tokens = 3}); }
TEST_CASE("a cache of one position") { check_right({.contexts = {1}, .tokens = 2}); }
TEST_CASE("requests of different contexts in one wave") {
  check_right({.contexts = {0, 1, 33, 130}});
}
TEST_CASE("without LM head, from seeded inputs") { check_right({.lm_head = false}); }

TEST_CASE("appends that outlast their step take the values of their own step") {
  check_right({.formats = exact, .contexts = {0, 0}, .tokens = 4, .cache_bytes_per_s = 1e6});
}

TEST_CASE("in fp32 nothing but arithmetic is left of the distance to the reference decoder") {
  const SimulationResult result = run({.formats = exact});
  REQUIRE(result.numerics.has_value());
  REQUIRE(!result.numerics->end_to_end.empty());
  for (const EndToEndError& error : result.numerics->end_to_end) {
    CHECK(error.relative_error < 3e-6);
  }
}

TEST_CASE("every operation and message of the graph has its row") {
  const SimulationResult result = run({});
  std::size_t operations = 0;
  std::size_t messages = 0;
  for (const Row& row : result.table.rows) {
    (row.is_message() ? messages : operations) += row.members.size();
  }
  // Per request: embed, 7 operations a layer, LM head; and q, kv and the result on the wire.
  CHECK(operations == 2 * 3 * (1 + 7 * 3 + 1));
  CHECK(messages == 2 * 3 * 3 * 3);
}

// The check can fail: each fault is caught and named.
TEST_CASE("caught: an edge removed from the graph") {
  Setup setup;
  setup.fault = fault_of(FaultKind::drop_edge);
  check_caught(setup, OpKind::ffn);
}
TEST_CASE("caught: a merge that does not wait for the sweep") {
  Setup setup;
  setup.fault = fault_of(FaultKind::drop_edge);
  setup.fault.operation = OpKind::merge;
  setup.fault.value = ValueKind::partial;
  check_caught(setup, OpKind::merge);
}
TEST_CASE("caught: a stale value of the step before") {
  Setup setup;
  setup.fault = fault_of(FaultKind::drop_edge);
  setup.fault.step = StepId(2);
  check_caught(setup, OpKind::ffn, 2);
}
TEST_CASE("caught: a value altered in flight by one part in a thousand") {
  Setup setup;
  setup.fault = fault_of(FaultKind::alter_in_flight);
  check_caught(setup, OpKind::sweep);
}
TEST_CASE("caught: k and v swapped") {
  Setup setup;
  setup.fault = fault_of(FaultKind::swap_kv);
  check_caught(setup, OpKind::append);
}
TEST_CASE("caught: one position left out of one sweep") {
  Setup setup;
  setup.fault = fault_of(FaultKind::skip_position);
  check_caught(setup, OpKind::sweep);
}
TEST_CASE("caught: one layer's weights read twice") {
  Setup setup;
  setup.fault = fault_of(FaultKind::wrong_weights);
  check_caught(setup, OpKind::ffn);
}
TEST_CASE("caught: an append that the next step does not wait for") {
  Setup setup;
  setup.launch_us = 0;
  setup.block = BlockOrder::standard;
  setup.current_token = CurrentToken::append_first;
  setup.fault = fault_of(FaultKind::drop_edge);
  setup.fault.operation = OpKind::sweep;
  setup.fault.value = ValueKind::order;
  // The sweep of this step starts with the message that also brings k and v, before they have
  // landed.
  check_caught(setup, OpKind::sweep);
}

}  // namespace qfs
