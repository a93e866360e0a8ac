#include <vector>

#include "analysis/operation_costs.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {

TEST_CASE("weights and swept positions of DESIGN.md 7") {
  const AnalyticParameters small = test::ideal(test::qwen3_0_6b(), BlockOrder::early_q, 0);
  const AnalyticCosts costs(small);
  CHECK(costs.ffn().bytes == Bytes(18'874'368));
  CHECK(costs.q().bytes + costs.o().bytes == Bytes(8'388'608));
  CHECK(costs.ffn().bytes + costs.kv().bytes == Bytes(23'068'672));
  CHECK(costs.sweep(1).bytes == Bytes(4096));
  CHECK(costs.append(0) == Bytes(0));
  CHECK(costs.q_message() == Bytes(4096));
  CHECK(costs.kv_message() == Bytes(4096));
  CHECK(costs.partial_message() == Bytes(4096 + 64));
  const AnalyticParameters large = test::ideal(test::qwen3_4b(), BlockOrder::early_q, 0);
  CHECK(AnalyticCosts(large).ffn().bytes == Bytes(149'422'080));
  CHECK(AnalyticCosts(large).q().bytes + AnalyticCosts(large).o().bytes == Bytes(41'943'040));
}

TEST_CASE("what full accounting adds, by hand") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  const AnalyticCosts costs(parameters);
  CHECK(costs.q().bytes == Bytes(20));
  CHECK(costs.kv().bytes == Bytes(32));
  CHECK(costs.qkv().bytes == Bytes(44));
  CHECK(costs.sweep(3).bytes == Bytes(36));
  CHECK(costs.o().bytes == Bytes(28));
  CHECK(costs.ffn().bytes == Bytes(28));
  CHECK(costs.lm_head().bytes == Bytes(24));
  CHECK(costs.append(0) == Bytes(8));
  parameters.current_token = CurrentToken::append_first;
  CHECK(costs.o().bytes == Bytes(32));
  parameters.batch = 5;  // weights once, the rest per request
  CHECK(costs.q().bytes == Bytes(68));
  CHECK(costs.sweep(3).bytes == 5 * Bytes(36));
  CHECK(costs.append(0) == 5 * Bytes(8));
}

TEST_CASE("what one of two ranks costs") {
  // As test::by_hand, but o writes a partial sum of 8 and reads no residual.
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.ranks = 2;
  parameters.shape.heads = 2;
  parameters.shape.kv_heads = 2;
  parameters.shape.ffn = 2;
  parameters.shape.vocab = 6;
  const AnalyticCosts costs(parameters);
  CHECK(costs.q().bytes == Bytes(20));
  CHECK(costs.kv().bytes == Bytes(32));
  CHECK(costs.sweep(3).bytes == Bytes(36));
  CHECK(costs.append(0) == Bytes(8));
  CHECK(costs.o().bytes == Bytes(20));
  CHECK(costs.ffn().bytes == Bytes(28));
  CHECK(costs.reduce().bytes == Bytes(2 * 8 + 8 + 8));
  CHECK(costs.reduce().launches == 1);
  CHECK(costs.reduce().macs == Macs(0));
  CHECK(costs.lm_head().bytes == Bytes(28));  // writes a token and its logit
  CHECK(costs.residual_message() == Bytes(8));
  CHECK(costs.token_message() == Bytes(8));
  parameters.formats.weights = Format::int8;  // a scale a row, on every rank
  CHECK(costs.o().bytes == Bytes(2 * (2 + 4) + 12));
  parameters.accounting = Accounting::weights_and_sweep;
  CHECK(costs.reduce().bytes == Bytes(0));
}

TEST_CASE("what one of two cache devices costs") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.shape.heads = 4;
  parameters.shape.kv_heads = 2;
  parameters.split.devices = 2;
  parameters.split.by = SplitBy::heads;
  const AnalyticCosts half = AnalyticCosts::of_shard(parameters);
  CHECK(half.q_message() == Bytes(8));
  CHECK(half.kv_message() == Bytes(8));
  CHECK(half.partial_message() == Bytes(8 + 8));
  CHECK(half.sweep(3).bytes == Bytes(3 * 8 + 8 + 16));
  CHECK(half.sweep(3).macs == Macs(3 * 2 * 2 * 2));
  CHECK(half.sweep(3).exps == Exps(3 * 2));
  CHECK(half.append(0) == Bytes(8));
  parameters.split.by = SplitBy::positions;
  const AnalyticCosts whole = AnalyticCosts::of_shard(parameters);
  CHECK(whole.q_message() == Bytes(16));
  CHECK(whole.append(0) == Bytes(16));
}

TEST_CASE("requests with rows of their own") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.batch = 3;
  const AnalyticCosts costs(parameters);
  const std::vector<std::size_t> rows{4, 0, 7};
  const AnalyticCost sweep = costs.sweep(rows);
  CHECK(sweep.launches == 1);
  CHECK(sweep.bytes == Bytes(3 * 12 + 11 * 8));
  CHECK(sweep.macs == Macs(11 * 4));
  CHECK(sweep.exps == Exps(11));
  CHECK(costs.sweep(5).bytes == costs.sweep(std::vector<std::size_t>{5, 5, 5}).bytes);
  CHECK(costs.append(rows) == Bytes(3 * 8));
  CHECK(costs.append(std::vector<std::size_t>{4}) == Bytes(8));
  CHECK(costs.kv_message(2) == Bytes(16));
  CHECK(costs.k_or_v_message(2) == Bytes(8));
  parameters.attention.growth = CacheGrowth::copying;
  CHECK(costs.append(rows) == Bytes((2 * 11 + 3) * 8));
  parameters.attention.form = AttentionForm::score_matrix;  // grows with each one's square
  CHECK(costs.sweep(rows).macs == Macs((16 + 49) * 4));
}

TEST_CASE("arithmetic is counted per request") {
  AnalyticParameters parameters = test::by_hand(BlockOrder::standard, 0);
  parameters.batch = 3;
  const AnalyticCosts costs(parameters);
  CHECK(costs.q().macs == 3 * Macs(4));
  CHECK(costs.kv().macs == 3 * Macs(8));
  CHECK(costs.o().macs == 3 * Macs(4));
  CHECK(costs.ffn().macs == 3 * Macs(6));
  CHECK(costs.ffn().exps == 3 * Exps(1));
  CHECK(costs.sweep(7).macs == 3 * Macs(28));
  CHECK(costs.sweep(7).exps == 3 * Exps(7));
  CHECK(costs.lm_head().macs == 3 * Macs(6));
}

TEST_CASE("an operation alone: launches, then the slowest of memory and arithmetic") {
  AnalyticDevice device;
  device.bandwidth = BytesPerSecond(10);
  device.mac_rate = MacsPerSecond(2);
  device.exp_rate = ExpsPerSecond(5);
  device.launch_overhead = Seconds(1);
  CHECK(time_alone({2, Bytes(60), Macs(8), Exps(10)}, device) == Seconds(2 + 6));
  CHECK(time_alone({2, Bytes(60), Macs(14), Exps(10)}, device) == Seconds(2 + 7));
  CHECK(time_alone({0, Bytes(60), Macs(14), Exps(40)}, device) == Seconds(8));
}

}  // namespace qfs
