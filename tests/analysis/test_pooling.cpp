#include "analysis/crossover.hpp"
#include "analysis/pooling.hpp"
#include "analysis/roofline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

constexpr BytesPerSecond slow(100e9);
constexpr BytesPerSecond fast(1e12);
constexpr Seconds round_trip(10e-6);

Bytes weights(const ModelShape& shape, ProjectionWeights which) {
  return projection_bytes(shape, Format::bf16, which);
}

/// As DESIGN.md 7 prints it: half a unit of the last digit.
auto printed(double value, double last_digit) { return Approx(value).margin(last_digit / 2); }

}  // namespace

TEST_CASE("projection weights of DESIGN.md 7") {
  CHECK(weights(test::qwen3_0_6b(), ProjectionWeights::q_and_o) == Bytes(8'388'608));
  CHECK(weights(test::qwen3_4b(), ProjectionWeights::q_and_o) == Bytes(41'943'040));
  CHECK(28 * weights(test::qwen3_0_6b(), ProjectionWeights::q_and_o) == Bytes(234'881'024));
  CHECK(36 * weights(test::qwen3_4b(), ProjectionWeights::q_and_o) == Bytes(1'509'949'440));
  CHECK(fused_projection_bytes(test::qwen3_0_6b(), Format::bf16) == Bytes(16'777'216));
  CHECK(fused_projection_bytes(test::qwen3_4b(), Format::bf16) == Bytes(75'497'472));
}

TEST_CASE("requests past which the projections pay on the cache side") {
  const auto requests = [](const ModelShape& shape, ProjectionWeights which) {
    return break_even_requests(weights(shape, which), slow, fast, round_trip);
  };
  CHECK(requests(test::qwen3_0_6b(), ProjectionWeights::o) == printed(2.95, 0.01));
  CHECK(requests(test::qwen3_4b(), ProjectionWeights::o) == printed(6.77, 0.01));
  CHECK(requests(test::qwen3_0_6b(), ProjectionWeights::q_and_o) == printed(4.56, 0.01));
  CHECK(requests(test::qwen3_4b(), ProjectionWeights::q_and_o) == printed(8.07, 0.01));
}

TEST_CASE("what pooling the pair costs a layer") {
  const auto cost = [](const ModelShape& shape) {
    return to_microseconds(
        pooling_time(weights(shape, ProjectionWeights::q_and_o), fast, round_trip));
  };
  CHECK(cost(test::qwen3_0_6b()) == printed(18.4, 0.1));
  CHECK(cost(test::qwen3_4b()) == printed(51.9, 0.1));
}

TEST_CASE("what the pair costs a token at 100 GB/s, unbatched and in a batch of eight") {
  const auto milliseconds = [](const ModelShape& shape, std::size_t batch) {
    const Bytes pair = weights(shape, ProjectionWeights::q_and_o);
    return 1e3 * projection_time_per_token(shape, pair, slow, batch).value();
  };
  CHECK(milliseconds(test::qwen3_0_6b(), 1) == printed(2.349, 0.001));
  CHECK(milliseconds(test::qwen3_0_6b(), 8) == printed(0.294, 0.001));
  CHECK(milliseconds(test::qwen3_4b(), 1) == printed(15.10, 0.01));
  CHECK(milliseconds(test::qwen3_4b(), 8) == printed(1.887, 0.001));
}

TEST_CASE("residents that an effective batch of eight needs without a window") {
  CHECK(residents_without_window(test::qwen3_0_6b(), 8) == 224);
  CHECK(residents_without_window(test::qwen3_4b(), 8) == 288);
}

TEST_CASE("shares of a layer's MACs") {
  const auto percent = [](const ModelShape& shape, ProjectionWeights which) {
    return 100 * mac_shares(shape, which).of_layer;
  };
  CHECK(percent(test::qwen3_0_6b(), ProjectionWeights::o) == printed(13.3, 0.1));
  CHECK(percent(test::qwen3_4b(), ProjectionWeights::o) == printed(10.4, 0.1));
  CHECK(percent(test::qwen3_0_6b(), ProjectionWeights::q_and_o) == printed(26.7, 0.1));
  CHECK(percent(test::qwen3_4b(), ProjectionWeights::q_and_o) == printed(20.8, 0.1));
  const auto added = [](const ModelShape& shape) {
    return 100 * mac_shares(shape, ProjectionWeights::q_and_o).added_to_pool;
  };
  CHECK(added(test::qwen3_0_6b()) == printed(36.4, 0.1));
  CHECK(added(test::qwen3_4b()) == printed(26.2, 0.1));
}

TEST_CASE("the wire of a pool: a layer by formula, a step by counting its messages") {
  struct Row {
    ModelShape shape;
    bool pooled_projections;
    std::int64_t sent_kib;  // a layer
    std::int64_t received_kib;
  };
  for (const Row& row : {Row{test::qwen3_0_6b(), false, 2, 6}, Row{test::qwen3_4b(), false, 5, 9},
                         Row{test::qwen3_0_6b(), true, 6, 10}}) {
    AnalyticParameters parameters = test::ideal(row.shape, BlockOrder::early_q, 0);
    parameters.formats.residual_wire = Format::bf16;
    parameters.pooled_projections = row.pooled_projections;
    const PooledWire wire = pooled_wire(parameters);
    CHECK(wire.sent == Bytes(row.sent_kib * 1024));
    CHECK(wire.received == Bytes(row.received_kib * 1024));

    parameters.link_bandwidth = BytesPerSecond(1);
    const Roofline step = round_bound(AnalyticArrangement::pooled, parameters, 0);
    const auto layers = static_cast<std::int64_t>(row.shape.layers);
    // With its own projections the pool keeps u, so that only the first layer's is sent besides.
    const Bytes input = row.pooled_projections ? Bytes(2048) : Bytes(0);
    CHECK(step.busy_of(AnalyticResource::link_to_pool) ==
          (layers * wire.sent + input) / BytesPerSecond(1));
    CHECK(step.busy_of(AnalyticResource::link_to_cache) ==
          layers * wire.received / BytesPerSecond(1));
  }
  AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), BlockOrder::early_q, 0);
  parameters.formats.residual_wire = Format::bf16;
  const PooledWire small = pooled_wire(parameters);
  CHECK(28 * (small.sent + small.received) == Bytes(224 * 1024));
  parameters.shape = test::qwen3_4b();
  const PooledWire large = pooled_wire(parameters);
  CHECK(36 * (large.sent + large.received) == Bytes(504 * 1024));
}

TEST_CASE("the pool's rounds are as long as both sides' at the busy crossover") {
  for (const ModelShape& shape : {test::qwen3_0_6b(), test::qwen3_4b()}) {
    AnalyticParameters parameters = test::ideal(shape, BlockOrder::early_q, 0);
    parameters.context = static_cast<std::size_t>(busy_crossover(parameters).value() + 0.5);
    const Roofline round = round_bound(AnalyticArrangement::pooled, parameters, 0);
    CHECK(round.busy_of(AnalyticResource::pool_executor).value() ==
          Approx(round.busy_of(AnalyticResource::cache_executor).value()).epsilon(1e-12));
  }
}

}  // namespace qfs
