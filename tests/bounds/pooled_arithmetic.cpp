// 001 section 4, line by line, read off simulated runs of the pooled arrangement: what is on the
// wire, what the two projections cost the cache side, and from how many requests on they pay there.
#include <functional>
#include <string>

#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "system/simulation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

constexpr double mb = 1e6;

/// 001's own case: the cache side has 100 GB/s, the pool 1 TB/s, 5 us one way; bf16 throughout.
ExecutionTable simulated(const ModelShape& shape, std::size_t batch, Projections projections) {
  SystemConfig config;
  config.arrangement = Arrangement::pooled;
  config.pool.projections = projections;
  config.compute_device.bandwidth = BytesPerSecond(1e12);
  config.cache_device.bandwidth = BytesPerSecond(1e11);
  config.link.latency = Seconds(5e-6);
  config.rules = {shape, {.residual_wire = Format::bf16}, Accounting::weights_and_sweep, {}};
  config.graph = {.block = BlockOrder::early_q,
                  .lm_head = false,
                  .contexts = std::vector<std::size_t>(batch, 1024),
                  .split = {},
                  .fuse_qkv = false,
                  .hold_residual = projections == Projections::pool};
  const std::function<SimulationResult()> task = [&] { return simulate(config); };
  return std::move(run_isolated<SimulationResult>({task}, 1).front().table);
}

struct WireUse {
  std::size_t messages = 0;
  std::int64_t bytes = 0;
};

WireUse wire_of(const ExecutionTable& table, const std::string& port) {
  WireUse use;
  for (const Row& row : table.rows) {
    if (row.is_message() && table.resources[row.resource].name == port) {
      ++use.messages;
      use.bytes += row.wire_bytes.value();
    }
  }
  return use;
}

bool is_projection(const Row& row) {
  return row.is_operation() && (row.op == OpKind::q || row.op == OpKind::o);
}

/// Of all q and o: weight bytes, and the time that they keep their device busy.
double projection_bytes(const ExecutionTable& table) {
  double bytes = 0;
  for (const Row& row : table.rows) {
    bytes += is_projection(row) ? static_cast<double>(row.work.weight_bytes.value()) : 0;
  }
  return bytes;
}
double projection_seconds(const ExecutionTable& table) {
  double seconds = 0;
  for (const Row& row : table.rows) {
    seconds += is_projection(row) ? to_seconds(row.end - row.start).value() : 0;
  }
  return seconds;
}
double seconds_of(const ExecutionTable& table, OpKind kind) {
  for (const Row& row : table.rows) {
    if (row.is_operation() && row.op == kind) {
      return to_seconds(row.end - row.start).value();
    }
  }
  return 0;
}

struct Stated {
  ModelShape shape;
  std::int64_t sent, received;          // bytes a layer
  double pair_layer_mb, pair_stack_mb;  // Wq and Wo
  double unbatched_ms, batched_ms;      // at 100 GB/s: a token; a request's share in a batch of 8
  double pays_from;                     // requests
  double pooling_us;                    // what the pair costs in the pool, a layer
};

std::vector<Stated> stated() {
  return {{test::qwen3_0_6b(), 2048, 6144, 8.388608, 234.881, 2.34881, 0.293601, 2.9549, 18.3886},
          {test::qwen3_4b(), 5120, 9216, 41.94304, 1509.949, 15.09949, 1.887437, 6.7712, 51.943}};
}

}  // namespace

TEST_CASE("001: what is on the wire of a pooled layer and token, and in how many round trips") {
  for (const Stated& want : stated()) {
    const auto layers = static_cast<std::int64_t>(want.shape.layers);
    const ExecutionTable table = simulated(want.shape, 1, Projections::cache_side);
    const WireUse sent = wire_of(table, "link.to_pool");
    const WireUse received = wire_of(table, "link.to_cache_device");
    CAPTURE(want.shape.name);
    CHECK(sent.messages == want.shape.layers);
    CHECK(received.messages == want.shape.layers);
    CHECK(sent.bytes == layers * want.sent);
    CHECK(received.bytes == layers * want.received);
  }
  CHECK((28 * (2048 + 6144) == 224 * 1024 && 36 * (5120 + 9216) == 504 * 1024));
}

TEST_CASE("001: with the projections in the pool, 6 + 10 KiB a layer and two replies") {
  const ModelShape shape = test::qwen3_0_6b();
  const ExecutionTable table = simulated(shape, 1, Projections::pool);
  const WireUse sent = wire_of(table, "link.to_pool");
  const WireUse received = wire_of(table, "link.to_cache_device");
  // The first call has only the network's input to send, the last (o alone) nothing to get q from.
  const std::int64_t kib = 1024;
  CHECK(sent.bytes == 28 * 6 * kib + 2 * kib);
  CHECK(received.bytes == 28 * 10 * kib);
  CHECK(sent.messages == 29);
  CHECK(received.messages == 2 * 28);
}

TEST_CASE("001: the pair of projections on a cache side of 100 GB/s") {
  for (const Stated& want : stated()) {
    CAPTURE(want.shape.name);
    const auto layers = static_cast<double>(want.shape.layers);
    const ExecutionTable alone = simulated(want.shape, 1, Projections::cache_side);
    CHECK(projection_bytes(alone) / mb == Approx(want.pair_stack_mb).epsilon(1e-5));
    CHECK(projection_bytes(alone) / mb / layers == Approx(want.pair_layer_mb).epsilon(1e-7));
    CHECK(projection_seconds(alone) * 1e3 == Approx(want.unbatched_ms).epsilon(1e-5));
    const ExecutionTable eight = simulated(want.shape, 8, Projections::cache_side);
    CHECK(projection_seconds(eight) * 1e3 / 8 == Approx(want.batched_ms).epsilon(1e-5));
  }
}

TEST_CASE(
    "001: from how many requests on Wo pays beside the cache, and what pooling the pair costs") {
  constexpr double round_trip = 10e-6;
  for (const Stated& want : stated()) {
    CAPTURE(want.shape.name);
    const ExecutionTable here = simulated(want.shape, 1, Projections::cache_side);
    const ExecutionTable there = simulated(want.shape, 1, Projections::pool);
    const double pays = seconds_of(here, OpKind::o) / (seconds_of(there, OpKind::o) + round_trip);
    CHECK(pays == Approx(want.pays_from).epsilon(1e-4));
    const double pooling = seconds_of(there, OpKind::q) + seconds_of(there, OpKind::o) + round_trip;
    CHECK(pooling * 1e6 == Approx(want.pooling_us).epsilon(1e-5));
  }
}

}  // namespace qfs
