#include "analysis/roofline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {

TEST_CASE("roofline of the example layer, by hand") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 10);
  parameters.link_bandwidth = BytesPerSecond(2);
  parameters.link_message_overhead = Seconds(3);
  parameters.compute.launch_overhead = Seconds(1);
  const Roofline split = two_device_roofline(parameters, 1);
  CHECK(split.busy_of(AnalyticResource::compute_memory) == Seconds(20 + 32 + 28 + 28));
  CHECK(split.busy_of(AnalyticResource::compute_launch) == Seconds(5));
  CHECK(split.busy_of(AnalyticResource::cache_memory) == Seconds(12 + 8 * 11));
  CHECK(split.busy_of(AnalyticResource::link_to_cache) == Seconds(3 + 2));  // q; nobody awaits k, v
  CHECK(split.busy_of(AnalyticResource::link_to_compute) == Seconds(3 + 4));
  CHECK(split.time == Seconds(108));
  CHECK(split.bound == AnalyticResource::compute_memory);
  const Roofline together = colocated_roofline(parameters, 1);
  CHECK(together.time == Seconds(108 + 100));
  CHECK(together.busy_of(AnalyticResource::compute_launch) == Seconds(6));
  CHECK(together.busy_of(AnalyticResource::link_to_cache) == Seconds(0));
}

TEST_CASE("append_first counts the append, one message of q, k, v, and its own position") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 10);
  parameters.current_token = CurrentToken::append_first;
  parameters.link_bandwidth = BytesPerSecond(2);
  parameters.link_message_overhead = Seconds(3);
  const Roofline split = two_device_roofline(parameters, 0);
  CHECK(split.busy_of(AnalyticResource::compute_memory) == Seconds(44 + 32 + 28));
  CHECK(split.busy_of(AnalyticResource::cache_memory) == Seconds(8 + 12 + 8 * 11));
  CHECK(split.bound == AnalyticResource::cache_memory);
  CHECK(split.busy_of(AnalyticResource::link_to_cache) == Seconds(3 + 6));
}

TEST_CASE("k, v messages surely ahead of a later query count, others do not") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::early_q, 10);
  parameters.shape.layers = 2;
  parameters.link_bandwidth = BytesPerSecond(2);
  parameters.link_message_overhead = Seconds(3);
  const auto sent = [&] {
    return two_device_roofline(parameters, 0).busy_of(AnalyticResource::link_to_cache);
  };
  CHECK(sent() == Seconds(5 + 7 + 5));  // q, kv of the first layer, q
  parameters.block = BlockOrder::single_q;
  CHECK(sent() == Seconds(5 + 5));
}

TEST_CASE("rooflines of a pool and of ranks, by hand") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::early_q, 10);
  parameters.link_bandwidth = BytesPerSecond(2);
  parameters.link_message_overhead = Seconds(3);
  parameters.lm_head = true;
  const Roofline pool = pooled_roofline(parameters, 1);
  CHECK(pool.busy_of(AnalyticResource::pool_memory) == Seconds(28 + 32 + 24));
  CHECK(pool.busy_of(AnalyticResource::cache_memory) == Seconds(20 + 12 + 8 * 11 + 28));
  CHECK(pool.busy_of(AnalyticResource::link_to_pool) == Seconds(7 + 7));  // u; the output
  CHECK(pool.busy_of(AnalyticResource::link_to_cache) == Seconds(3 + 8));
  CHECK(pool.bound == AnalyticResource::cache_memory);
  parameters.ranks = 2;
  parameters.shape.heads = 2;
  parameters.shape.kv_heads = 2;
  parameters.shape.ffn = 2;
  parameters.shape.vocab = 4;
  const Roofline ranks = tensor_parallel_roofline(parameters, 1);
  CHECK(ranks.busy_of(AnalyticResource::rank_memory) ==
        Seconds(20 + 32 + 12 + 8 * 11 + 20 + 28 + 2 * 32 + 24));
  CHECK(ranks.busy_of(AnalyticResource::link_between_ranks) == Seconds(7 + 7));
}

TEST_CASE("a cache split over devices: the busiest of them") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::early_q, 11);
  parameters.split.devices = 2;  // rows 5 and 6
  parameters.link_bandwidth = BytesPerSecond(2);
  const Roofline split = two_device_roofline(parameters, 0);
  CHECK(split.busy_of(AnalyticResource::cache_memory) == Seconds(12 + 8 * 6));
  CHECK(split.busy_of(AnalyticResource::link_to_cache) == Seconds(2 + 2));
  CHECK(split.busy_of(AnalyticResource::link_to_compute) == Seconds(4 + 4));
}

TEST_CASE("a round is all that all waves do, appends and replies to the next token included") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 10);
  parameters.in_flight = 3;
  parameters.compute.launch_overhead = Seconds(1);
  parameters.link_bandwidth = BytesPerSecond(2);
  const Roofline round = round_bound(AnalyticArrangement::two_device, parameters, 1);
  CHECK(round.busy_of(AnalyticResource::compute_executor) == 3 * Seconds(20 + 32 + 28 + 28 + 5));
  CHECK(round.busy_of(AnalyticResource::cache_executor) == 3 * Seconds(12 + 8 * 11));
  CHECK(round.busy_of(AnalyticResource::cache_memory) == 3 * Seconds(12 + 8 * 11 + 8));
  CHECK(round.busy_of(AnalyticResource::link_to_cache) == 3 * Seconds(2 + 4));
  CHECK(round.bound == AnalyticResource::compute_executor);
  parameters.lm_head = true;
  CHECK(round_bound(AnalyticArrangement::pooled, parameters, 0)
            .busy_of(AnalyticResource::link_to_cache) == 3 * Seconds(4 + 2));
}

TEST_CASE("the bound moves from the weights to the cache and to the LM head") {
  AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), BlockOrder::early_q, 1024);
  CHECK(two_device_roofline(parameters, 0).bound == AnalyticResource::compute_memory);
  CHECK(to_microseconds(two_device_roofline(parameters, 0).time) == Approx(880.804).epsilon(1e-6));
  parameters.context = 65536;
  CHECK(two_device_roofline(parameters, 0).bound == AnalyticResource::cache_memory);
  CHECK(to_microseconds(two_device_roofline(parameters, 0).time) ==
        Approx(7516.193).epsilon(1e-6));  // 28 x 65536 x 4096 bytes
  CHECK(to_microseconds(colocated_roofline(parameters, 0).time) == Approx(8396.997).epsilon(1e-6));
  parameters.context = 0;
  parameters.lm_head = true;
  CHECK(to_microseconds(two_device_roofline(parameters, 0).time) ==
        Approx(880.804 + 311.165).epsilon(1e-6));  // 2 x 1024 x 151936 bytes
}

}  // namespace qfs
