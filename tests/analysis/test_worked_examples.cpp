// Timelines worked by hand on test::by_hand, in seconds. "o [60, 88]" is an operation and its start
// and end.
#include "analysis/closed_form.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

constexpr double rounding = 1e-12;

Approx about(double seconds) { return Approx(seconds).epsilon(rounding); }

double stack(const AnalyticTimes& times) { return times.stack_time.value(); }
double step(const AnalyticTimes& times, std::size_t token) {
  return times.step_times.at(token).value();
}

}  // namespace

TEST_CASE("two devices: an append delays the sweep that it runs beside") {
  // q [0, 20], kv [20, 52]. Sweep of 12 + 8 n bytes from 20; append of 8 bytes from 52.
  const auto time = [](std::size_t context) {
    return stack(two_device_times(test::by_hand(BlockOrder::standard, context)));
  };
  CHECK(time(0) == about(52 + 28 + 28));    // sweep [20, 32] is hidden
  CHECK(time(2) == about(52 + 28 + 28));    // sweep [20, 48], likewise
  CHECK(time(3) == about(60 + 28 + 28));    // 4 bytes are left at 52, at half the bandwidth
  CHECK(time(4) == about(72 + 28 + 28));    // 12 are left: 8 until 68, beside the append; 4 alone
  CHECK(time(10) == about(120 + 28 + 28));  // 92 + 8 bytes from 20 on, without a gap
}

TEST_CASE("two devices, early_q: the sweep runs beside the feed-forward") {
  // q [0, 20], ffn [20, 48], kv [48, 80], append of 8 from 80.
  const auto time = [](std::size_t context) {
    return stack(two_device_times(test::by_hand(BlockOrder::early_q, context)));
  };
  CHECK(time(6) == about(80 + 28));   // sweep [20, 80]
  CHECK(time(7) == about(96 + 28));   // 8 left at 80, and the append's 8
  CHECK(time(8) == about(104 + 28));  // 16 left: 8 until 96; 8 alone
}

TEST_CASE("two devices: messages queue in one direction and add latency") {
  // q [0, 20]; its message of 4 bytes at 2 B/s with 1 s of overhead [20, 23], there at 33. Sweep,
  // 12 bytes [33, 45]. Result, 8 bytes [45, 50], there at 60. kv [20, 52]. o [60, 88], ffn [88,
  // 116].
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.link_latency = Seconds(10);
  parameters.link_bandwidth = BytesPerSecond(2);
  parameters.link_message_overhead = Seconds(1);
  CHECK(stack(two_device_times(parameters)) == about(116));
}

TEST_CASE("two devices, two layers: messages of both layers on one port") {
  // Compute at 10 B/s: q 2, kv 3.2, o 2.8, ffn 2.8. Overhead 50 s a message, nothing else on the
  // link. Layer 0: q [0, 2], message [2, 52]; kv [2, 5.2], message [52, 102], append [102, 110];
  // sweep [52, 64], result at 114; o, ffn until 119.6. Layer 1: q until 121.6, its port free since
  // 102: there at 171.6. kv [121.6, 124.8]. Sweep until 183.6, result at 233.6, o, ffn until 239.2.
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.shape.layers = 2;
  parameters.compute.bandwidth = BytesPerSecond(10);
  parameters.link_message_overhead = Seconds(50);
  CHECK(stack(two_device_times(parameters)) == about(239.2));
  // With early_q and a compute device at 100 B/s: q [0, .2], ffn .28, kv .32; messages to 50.2 and
  // 100.2. The sweep takes 1 s at 12 B/s; result at 101.2; o until 101.48; q until 101.68; there at
  // 151.68, result at 202.68, o .28.
  parameters.block = BlockOrder::early_q;
  parameters.compute.bandwidth = BytesPerSecond(100);
  parameters.cache.bandwidth = BytesPerSecond(12);
  CHECK(stack(two_device_times(parameters)) == about(202.96));
}

TEST_CASE("two devices: the k, v message holds up the next layer's query") {
  // Head 4 wide, so that k and v, 16 bytes, take longer than the result, 12; q 8. Only the link
  // takes time, at 1 B/s. q [0, 8], kv [8, 24], result [8, 20]. Layer 1: q, ready at 20, [24, 32],
  // result [32, 44].
  AnalyticParameters parameters = test::by_hand(BlockOrder::early_q, 0);
  parameters.shape.layers = 2;
  parameters.shape.head_dim = 4;
  parameters.compute.bandwidth = BytesPerSecond{unlimited};
  parameters.cache.bandwidth = BytesPerSecond{unlimited};
  parameters.link_bandwidth = BytesPerSecond(1);
  CHECK(stack(two_device_times(parameters)) == about(44));
}

TEST_CASE("two devices, append_first: the sweep waits for its own append and includes it") {
  // Fused: qkv [0, 44], append [44, 52], sweep of one position, 20 bytes [52, 72], o 32, ffn 28.
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.current_token = CurrentToken::append_first;
  CHECK(stack(two_device_times(parameters)) == about(72 + 32 + 28));
  parameters.block = BlockOrder::swapped;
  CHECK(stack(two_device_times(parameters)) == about(72 + 32 + 28));
  // early_q: q [0, 20], ffn [20, 48], kv [48, 80], append [80, 88], sweep [88, 108], o 32.
  parameters.block = BlockOrder::early_q;
  CHECK(stack(two_device_times(parameters)) == about(108 + 32));
  // One message carries q, k and v: 12 bytes at 1 B/s. qkv 44, message 56, append 64, sweep 84,
  // result 92, o, ffn.
  parameters.block = BlockOrder::standard;
  parameters.link_bandwidth = BytesPerSecond(1);
  CHECK(stack(two_device_times(parameters)) == about(92 + 32 + 28));
}

TEST_CASE("two devices: the next token's sweep waits for an append still in flight") {
  // early_q, fp32 cache: a position and an append have 16 bytes. Compute at 100 B/s: q .2, ffn .28,
  // kv .32, o .28. Link 4 B/s: q 1 s, kv 2 s, result 2 s. Token 0: q there 1.2; kv made .8,
  // there 3.2. Sweep, 12 bytes from 1.2: 10 left at 3.2, beside the append of 16: until 23.2;
  // append until 29.2. Result 25.2, o until 25.48. Token 1: q made 25.68, there 26.68; kv
  // made 26.28, there 28.68. Append 0, with .52 left at 28.68, now beside append 1: until 29.72.
  // Sweep, 28 bytes from 29.72, beside append 1 with 15.48 left, which ends at 60.68; the last
  // 12.52 alone: until 73.2. Result 75.2, o until 75.48.
  AnalyticParameters parameters = test::by_hand(BlockOrder::early_q, 0);
  parameters.formats.kv = Format::fp32;
  parameters.tokens = 2;
  parameters.compute.bandwidth = BytesPerSecond(100);
  parameters.link_bandwidth = BytesPerSecond(4);
  const AnalyticTimes times = two_device_times(parameters);
  CHECK(step(times, 0) == about(25.48));
  CHECK(step(times, 1) == about(50));
}

TEST_CASE("one device: a saturated memory conserves bytes") {
  // q [0, 20], kv [20, 52], append of 8 beside the sweep of 36: until 96; o 28, ffn 28.
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 3);
  CHECK(stack(colocated_times(parameters)) == about(96 + 28 + 28));
  parameters.block = BlockOrder::swapped;
  CHECK(stack(colocated_times(parameters)) == about(96 + 28 + 28));
  // early_q, first token: q, ffn, sweep, kv, then the append of 8 beside o of 28: 20 + 28 + 36 + 32
  // + 8 + 28.
  parameters.block = BlockOrder::early_q;
  CHECK(stack(colocated_times(parameters)) == about(152));
}

TEST_CASE("one device: launches give the append the memory to itself") {
  // 5 s a launch: q [0, 25], kv [25, 62]. Append alone until 67, 3 bytes left; beside the sweep
  // until 73; sweep of 36 until 106; o until 139; ffn, two launches, until 177.
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 3);
  parameters.compute.launch_overhead = Seconds(5);
  CHECK(stack(colocated_times(parameters)) == about(177));
}

TEST_CASE("one device: arithmetic runs beside the shared memory") {
  // 3 exponentials at 1/20 a second: the sweep lasts 60 s from 52, and the append beside it costs
  // nothing: until 112. o until 140. ffn: 1 exponential, 20 s, below its 28.
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 3);
  parameters.compute.exp_rate = ExpsPerSecond(0.05);
  CHECK(stack(colocated_times(parameters)) == about(168));
  // MACs at 1/8 a second: q 4, 32 s; kv 8, 64 s (until 96); sweep 12, 96 s; o 4, 32 s; ffn 6, 48 s.
  parameters.compute.mac_rate = MacsPerSecond(0.125);
  CHECK(stack(colocated_times(parameters)) == about(32 + 64 + 96 + 32 + 48));
}

TEST_CASE("one device, append_first: nothing runs beside the append") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.current_token = CurrentToken::append_first;
  CHECK(stack(colocated_times(parameters)) == about(44 + 8 + 20 + 32 + 28));
  parameters.block = BlockOrder::early_q;
  CHECK(stack(colocated_times(parameters)) == about(20 + 28 + 32 + 8 + 20 + 32));
}

TEST_CASE("one device, early_q: kv goes before a sweep whose cache is not ready") {
  // Head 64 wide, fp32 cache, batch 4: q 800, kv 1568, sweep 1040 + 2048 n, o 832, ffn 76, append
  // 2048. Token 0: q 800, ffn 876, sweep 1916, kv 3484; o beside the append until 5148. Token 1: q
  // until 6748, ffn until 6900, the append with 340 left. So kv: append until 7580, kv until 8808.
  // Sweep of 3088 beside the new append of 2048, which ends at 12904: until 13944. o until 14776.
  AnalyticParameters parameters = test::by_hand(BlockOrder::early_q, 0);
  parameters.shape.head_dim = 64;
  parameters.formats.kv = Format::fp32;
  parameters.batch = 4;
  parameters.tokens = 2;
  const AnalyticTimes times = colocated_times(parameters);
  CHECK(step(times, 0) == about(5148));
  CHECK(step(times, 1) == about(14776 - 5148));
}

TEST_CASE("the LM head belongs to the step and not to the stack") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.lm_head = true;
  parameters.tokens = 2;
  const AnalyticTimes times = two_device_times(parameters);
  CHECK(stack(times) == about(108));
  CHECK(step(times, 0) == about(108 + 24));
  CHECK(step(times, 1) == about(108 + 24));  // its sweep of one position [152, 172] hides too
  CHECK(times.step_times.size() == 2);
}

}  // namespace qfs
