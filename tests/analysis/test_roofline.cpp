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
