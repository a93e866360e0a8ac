// Timelines worked by hand on test::by_hand, in seconds, with two waves in flight or with the cache
// split. "o [60, 88]" is an operation and its start and end.
#include "analysis/closed_form.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

constexpr double rounding = 1e-12;

Approx about(double seconds) { return Approx(seconds).epsilon(rounding); }

double stack(const AnalyticTimes& times) { return times.stack_time.value(); }
double end(const AnalyticTimes& times, std::size_t wave, std::size_t token) {
  return times.wave_step_ends.at(wave).at(token).value();
}

/// A message of b bytes keeps its port for 1 + b/2 and takes 10 more.
AnalyticParameters linked(BlockOrder block, std::size_t context) {
  AnalyticParameters parameters = test::by_hand(block, context);
  parameters.link_latency = Seconds(10);
  parameters.link_bandwidth = BytesPerSecond(2);
  parameters.link_message_overhead = Seconds(1);
  return parameters;
}

AnalyticParameters split(AnalyticParameters parameters, SplitBy by) {
  parameters.split.devices = 2;
  parameters.split.by = by;
  return parameters;
}

}  // namespace

TEST_CASE("two waves on two devices") {
  // What the cache awaits goes first: q0 [0, 20], q1 [20, 40]; sweeps of 12 [20, 32], [40, 52].
  // Then what is ready the longest: kv0 [40, 72], kv1 [72, 104], ready before merge 0 of 72. At 104
  // merge 0, then merge 1, which is as old as o0 and comes before it: o0 [104, 132], o1 [132, 160],
  // ffn0 [160, 188], ffn1 [188, 216].
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.in_flight = 2;
  const AnalyticTimes times = two_device_times(parameters);
  CHECK(end(times, 0, 0) == about(188));
  CHECK(end(times, 1, 0) == about(216));
  CHECK(stack(times) == about(188));
}

TEST_CASE("two waves: the port is first in, first out") {
  // Ideal devices, and 2 s a message: q0, q1, kv0, kv1 leave from 0 on, until 2, 4, 6, 8. Results
  // [2, 4] and [4, 6] on one port, too. Token 1: q0 and kv0, made at 4, [8, 10] and [10, 12]; q1,
  // at 6, [12, 14]. Results [10, 12] and [14, 16].
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.in_flight = 2;
  parameters.tokens = 2;
  parameters.compute = {};
  parameters.cache = {};
  parameters.link_message_overhead = Seconds(2);
  const AnalyticTimes times = two_device_times(parameters);
  CHECK(end(times, 0, 0) == about(4));
  CHECK(end(times, 1, 0) == about(6));
  CHECK(end(times, 0, 1) == about(12));
  CHECK(end(times, 1, 1) == about(16));
  CHECK(times.step_times.at(1).value() == about(8));
}

TEST_CASE("two waves on one device") {
  // q0 [0, 20], q1 [20, 40], kv0 [40, 72]; kv1 32 beside append 0 of 8: until 112. sweep0 12 beside
  // append 1: until 132, sweep1 [132, 144]; o0 [144, 172], o1 200, ffn0 228, ffn1 256.
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.in_flight = 2;
  const AnalyticTimes times = colocated_times(parameters);
  CHECK(end(times, 0, 0) == about(228));
  CHECK(end(times, 1, 0) == about(256));
}

TEST_CASE("positions on two cache devices that share the compute device's ports") {
  // One row each. q [0, 20], its messages of 4 [20, 23] and [23, 26], there at 33 and 36; sweeps of
  // 20 until 53 and 56; results of 8 [53, 58] and [58, 63], there at 73. kv [20, 52] beside. o [73,
  // 101], ffn 129. The row went to device 0 (append [67, 75]), so token 1 sweeps two rows and one:
  // from 129, q 149, messages 162, 165; sweeps until 190 and 185; results [190, 195] and [185,
  // 190]: 205. o, ffn until 261.
  AnalyticParameters parameters = split(linked(BlockOrder::standard, 2), SplitBy::positions);
  parameters.tokens = 2;
  const AnalyticTimes times = two_device_times(parameters);
  CHECK(end(times, 0, 0) == about(129));
  CHECK(end(times, 0, 1) == about(261));
  // With ports of its own device 1 is as fast as device 0: sweeps [33, 53], results there at 68.
  parameters.own_ports = true;
  CHECK(end(two_device_times(parameters), 0, 0) == about(68 + 28 + 28));
}

TEST_CASE("heads on two cache devices") {
  // Two heads: q 16 + 8 + 8 = 32, kv 32 + 8 + 16 = 56, o 16 + 8 + 16 = 40; a device sweeps one
  // head: 12 + 8 n. q [0, 32]; halves of 4 [32, 35], [35, 38], there at 45, 48; sweeps of 3
  // positions, 36: 81, 84; results [81, 86] and [86, 91], there at 101. kv [32, 88]. o 141, ffn
  // 169.
  AnalyticParameters parameters = split(linked(BlockOrder::standard, 3), SplitBy::heads);
  parameters.shape.heads = 2;
  parameters.shape.kv_heads = 2;
  CHECK(stack(two_device_times(parameters)) == about(169));
  // append_first: qkv 48 + 8 + 24 = 80; messages of 4 + 8 [80, 87], [87, 94], there at 97, 104;
  // appends of 8, sweeps of four positions, 44: 149, 156; results [149, 154], [156, 161]: 171. o
  // reads the merged attention: 40, and ffn 28.
  parameters.current_token = CurrentToken::append_first;
  CHECK(stack(two_device_times(parameters)) == about(171 + 40 + 28));
}

TEST_CASE("scattered rows: each request appends where it has the fewest") {
  // Two requests with three rows, one on either device alone. qkv 24 + 2 x 16 = 56 + 8 = 64; one
  // message each: both q and one k, v, 16 bytes [64, 73], [73, 82], no latency. Appends of 8 until
  // 81, 90; sweeps of 3 + 1 rows, 24 + 32: 137, 146. Results of 16 [137, 146], [146, 155]. o 8 + 2
  // x 20 = 48, ffn 12 + 2 x 16 = 44.
  AnalyticParameters parameters = split(linked(BlockOrder::standard, 3), SplitBy::any);
  parameters.link_latency = Seconds(0);
  parameters.current_token = CurrentToken::append_first;
  parameters.batch = 2;
  parameters.scattered_rows = {{3, 0}, {0, 3}};
  CHECK(stack(two_device_times(parameters)) == about(155 + 48 + 44));
  // Both on device 0: 1 append of both on device 1, of which the message has 8 + 16 bytes, 13 s, to
  // the other's 5: there at 69 and 82. Device 0 sweeps six rows, 72: 141; device 1 appends 16 and
  // sweeps two, 40: 138. Results [141, 150] after [138, 147]: 156.
  parameters.scattered_rows = {{3, 0}, {3, 0}};
  CHECK(stack(two_device_times(parameters)) == about(156 + 48 + 44));
}

TEST_CASE("a device without rows still answers") {
  // Launches of 5 s on the caches alone: sweep of nothing, 12, and of three rows, 36, from 20.
  AnalyticParameters parameters = split(test::by_hand(BlockOrder::standard, 3), SplitBy::any);
  parameters.scattered_rows = {{0, 3}};
  parameters.cache.launch_overhead = Seconds(5);
  CHECK(stack(two_device_times(parameters)) == about(20 + 5 + 36 + 28 + 28));
  parameters.cache.launch_overhead = Seconds(100);
  parameters.cache.bandwidth = BytesPerSecond(1000);
  CHECK(stack(two_device_times(parameters)) == about(20 + 100 + 0.036 + 28 + 28));
}

}  // namespace qfs
