// Timelines worked by hand on test::by_hand, in seconds, with a pool or with ranks. A message of b
// bytes keeps its port for 1 + b/2 and takes 10 more. Bytes: u, z 8; q, and half of k, v, 4.
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

AnalyticParameters linked(BlockOrder block, std::size_t context) {
  AnalyticParameters parameters = test::by_hand(block, context);
  parameters.link_latency = Seconds(10);
  parameters.link_bandwidth = BytesPerSecond(2);
  parameters.link_message_overhead = Seconds(1);
  return parameters;
}

/// Each of t ranks as large as test::by_hand.
AnalyticParameters ranked(BlockOrder block, std::size_t context, std::size_t ranks) {
  AnalyticParameters parameters = linked(block, context);
  parameters.ranks = ranks;
  parameters.shape.heads = ranks;
  parameters.shape.kv_heads = ranks;
  parameters.shape.ffn = ranks;
  parameters.shape.vocab = 2 * ranks;
  return parameters;
}

}  // namespace

TEST_CASE("pool, early_q: the sweep runs beside the round trip") {
  // u [0, 5], there at 15; ffn [15, 43], kv [43, 75]; one reply, 8 + 8 bytes [75, 84], there at 94.
  // q [0, 20], sweep of 36 until 56. From 94 o 28 beside the append of 8: until 130.
  const AnalyticParameters parameters = linked(BlockOrder::early_q, 3);
  CHECK(stack(pooled_times(parameters)) == about(130));
  // A sweep of 84 [20, ...] has 10 left at 94; beside the append until 110; 112. o 140.
  CHECK(stack(pooled_times(linked(BlockOrder::early_q, 9))) == about(140));
  // early_qk: k and v are 20 each, 8 more than both at once. parallel: kv before the ffn.
  CHECK(stack(pooled_times(linked(BlockOrder::early_qk, 3))) == about(138));
  CHECK(stack(pooled_times(linked(BlockOrder::parallel, 3))) == about(130));
}

TEST_CASE("pool, swapped: every result is a reply of its own") {
  // ffn [15, 43]; z [43, 48] there at 58: q [58, 78], sweep of 36. kv [43, 75], [75, 80], there at
  // 90: append of 8 beside the sweep: until 122. o 150.
  CHECK(stack(pooled_times(linked(BlockOrder::swapped, 3))) == about(150));
  // Without a cache the merge waits for k and v: sweep [78, 90], o beside the append from 90 on.
  CHECK(stack(pooled_times(linked(BlockOrder::swapped, 0))) == about(126));
  // early_k: k of 20 before the ffn, for it is as old: k [15, 35], [35, 38], there at 48; ffn 63, z
  // [63, 68] there at 78; q 98; v [63, 83], [83, 86] there at 96, where k and v make the append of
  // 8, beside q, 2 left at 96: q until 100, append 106; sweep beside it from 100 until 142. o 170.
  CHECK(stack(pooled_times(linked(BlockOrder::early_k, 3))) == about(170));
}

TEST_CASE("pool, standard: ffn last, on the pool") {
  // u [0, 5], kv [15, 47], [47, 52], there at 62; q 20, sweep 56; o beside the append [62, 98]; y
  // [98, 103], there at 113; ffn 141. Layer 1: x [141, 146], there at 156; kv [141, 173], [173,
  // 178], there at 188; q 176, sweep 36 beside the append: 220; o 248; y 263; ffn 291.
  AnalyticParameters parameters = linked(BlockOrder::standard, 3);
  CHECK(stack(pooled_times(parameters)) == about(141));
  parameters.shape.layers = 2;
  CHECK(stack(pooled_times(parameters)) == about(291));
  // shifted_q: q 1 reads y: [98, 118]; sweep until 154. x with k, v of layer 1 in one reply at 173:
  // 16 bytes [173, 182], there at 192; o beside the append until 228; y 243; ffn 271.
  parameters.block = BlockOrder::shifted_q;
  CHECK(stack(pooled_times(parameters)) == about(271));
  // single_q: q 1 goes first, for it is as old as q 0's sweep is young: q 0 20, q 1 40, sweep 0
  // [40, 76] beside append 0 from 62: 84. The pool awaits o 0, so that it goes before sweep 1: 112;
  // y 127; ffn 155, kv 187, reply [187, 196], there at 206. o 1 beside append 1: 242; y 257.
  parameters.block = BlockOrder::single_q;
  CHECK(stack(pooled_times(parameters)) == about(257 + 28));
}

TEST_CASE("pool, append_first: q, k and v come from two sides and are never fused") {
  // kv there at 62, append 70, sweep of four rows, 44: 114; o with lse, 32: 146; y 161; ffn 189.
  AnalyticParameters parameters = linked(BlockOrder::standard, 3);
  parameters.current_token = CurrentToken::append_first;
  CHECK(stack(pooled_times(parameters)) == about(189));
  // On the pool: q [15, 35], kv [35, 67], [67, 72], there at 82; append 90, sweep 134; result and
  // x, 16 bytes, there at 153; o 185, ffn 213.
  parameters.pooled_projections = true;
  CHECK(stack(pooled_times(parameters)) == about(213));
}

TEST_CASE("pool: how one step follows another") {
  // Standard, as above until 141. Without LM head the order alone goes back: 1 + 10 s, so that
  // token 1 starts at 152. u 167; kv 199, there at 214; q 172, sweep of 44: 216, but from 214
  // beside the append: 218; o 28 beside the 6 left: 252; y 267; ffn 295.
  AnalyticParameters parameters = linked(BlockOrder::standard, 3);
  parameters.tokens = 2;
  const AnalyticTimes timed = pooled_times(parameters);
  CHECK(end(timed, 0, 0) == about(141));
  CHECK(end(timed, 0, 1) == about(295));
  // LM head [141, 165], the token of 4 bytes there at 178: 26 s later.
  parameters.lm_head = true;
  const AnalyticTimes with_head = pooled_times(parameters);
  CHECK(stack(with_head) == about(141));
  CHECK(end(with_head, 0, 0) == about(165));
  CHECK(end(with_head, 0, 1) == about(295 + 26 + 24));
  // early_q ends on the cache side: the next step follows at once. With an LM head the output goes
  // to the pool: [130, 135], there at 145; 169.
  parameters.block = BlockOrder::early_q;
  CHECK(end(pooled_times(parameters), 0, 0) == about(169));
  parameters.lm_head = false;
  CHECK(end(pooled_times(parameters), 0, 1) == about(130 + 130));
}

TEST_CASE("pool with the projections: q comes back first, z goes there and back") {
  // u 15; q [15, 35], [35, 38], there at 48; sweep of 36: 84. ffn [35, 63], kv [63, 95]; reply [95,
  // 104], there at 114; a and z, 12 bytes [114, 121], there at 131; o 159.
  AnalyticParameters parameters = linked(BlockOrder::early_q, 3);
  parameters.pooled_projections = true;
  CHECK(stack(pooled_times(parameters)) == about(159));
  // Layer 1: the pool has u: q [159, 179], there at 192; sweep until 228; ffn 207, kv 239, reply
  // [239, 248], there at 258; a, z there at 275; o 303. Then 0 bytes of order: 314.
  parameters.shape.layers = 2;
  CHECK(stack(pooled_times(parameters)) == about(303));
  parameters.tokens = 2;
  CHECK(end(pooled_times(parameters), 0, 1) == about(314 + 303));
  // append_first: q as before, sweep from the append's end, 114 + 8, of 4 rows: 166. The result, 8
  // bytes, with z [166, 175], there at 185; o reads lse: 32.
  parameters.tokens = 1;
  parameters.shape.layers = 1;
  parameters.current_token = CurrentToken::append_first;
  CHECK(stack(pooled_times(parameters)) == about(185 + 32));
}

TEST_CASE("pool and a cache on two devices: the first owns the request") {
  // Rows 5 and 6. q [0, 20], its message [20, 23], there at 33; sweeps of 52 [20, 72] and of 60
  // [33, 93]; result [93, 98], there at 108. The reply, there at 94, appended on device 0 until
  // 102. o [108, 136].
  AnalyticParameters parameters = linked(BlockOrder::early_q, 11);
  parameters.split.devices = 2;
  CHECK(stack(pooled_times(parameters)) == about(136));
  // A row goes to device 1 by the owner: 8 bytes [94, 99], there at 109; append 117; sweep of its
  // one row, 20: 137; result [137, 142], there at 152. o, without lse, 28.
  parameters.context = 1;
  parameters.split.by = SplitBy::any;
  parameters.scattered_rows = {{1, 0}};
  parameters.current_token = CurrentToken::append_first;
  CHECK(stack(pooled_times(parameters)) == about(152 + 28));
}

TEST_CASE("pool: two waves") {
  // Both u leave at 0: [0, 5], [5, 10], there at 15, 20. The pool: ffn0 [15, 43]; ffn1, ready at
  // 20, [43, 71]; kv0 [71, 103], kv1 [103, 135]. Replies [103, 112], [135, 144], there at 122, 154.
  // The cache side, which nobody awaits: q0, q1 40; sweeps of 36 until 112. o0 beside append 0:
  // [122, 158], append 1 from 154: at 154 4 left (the append ended at 138): until 162, append 4
  // left; o1 [162, 162 + 28 + 4].
  AnalyticParameters parameters = linked(BlockOrder::early_q, 3);
  parameters.in_flight = 2;
  const AnalyticTimes times = pooled_times(parameters);
  CHECK(end(times, 0, 0) == about(162));
  CHECK(end(times, 1, 0) == about(194));
}

TEST_CASE("two ranks: partial sums to the other, then a reduction on each") {
  // q 20, kv 52, sweep of 36 beside the append: 96; o without the residual, 20: 116. Sums of 8
  // [116, 121], there at 131; reduction, 2 sums, in, out: 32, 163; ffn 191, sums there at 206; 238.
  // LM head of two rows, 8 + 8 + 8: 262; candidates of 8 bytes there at 277. Token 1: sweep of 44
  // beside the append: 8 later, 285 s in all, less the 15 after it: 547.
  AnalyticParameters parameters = ranked(BlockOrder::standard, 3, 2);
  parameters.lm_head = true;
  parameters.tokens = 2;
  const AnalyticTimes times = tensor_parallel_times(parameters);
  CHECK(stack(times) == about(238));
  CHECK(end(times, 0, 0) == about(262));
  CHECK(end(times, 0, 1) == about(277 + 262 + 8));
  // parallel: q 20, kv 52, then the ffn, which the other rank awaits: 80, sums at 95; sweep 36 and
  // append: 124 (ready at 20). The reduction, ready at 95, [124, 156]; o, ready at 124, [156, 176],
  // though it is awaited; sums 191; 223.
  parameters.block = BlockOrder::parallel;
  CHECK(stack(tensor_parallel_times(parameters)) == about(223));
}

TEST_CASE("four ranks: sums queue on the sender's port, in order of rank") {
  // Until 116 as above; 5 s a message: rank 0 has its three at 116 + 5 + 10, rank 1 5 s later, 2
  // and 3 10 s later. Reductions of 6 x 8 = 48, ffn 28: sums made at 207, 212, 217, 217. Rank 3 has
  // them at 242, when rank 2's third and its own third ... have left (232): 290.
  CHECK(stack(tensor_parallel_times(ranked(BlockOrder::standard, 3, 4))) == about(290));
}

}  // namespace qfs
