// What a calibrated softmax does to the graph, to the layout of values and to what they cost.
#include <algorithm>
#include <string>
#include <vector>

#include "decode/graph.hpp"
#include "decode/values.hpp"
#include "decode/work.hpp"
#include "tests/decode/calibrated_machine.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

const SoftmaxUnit min_max{.kind = SoftmaxKind::min_max};

GraphConfig config_of(const SoftmaxChoice& softmax, const CacheSplit& split = {},
                      CurrentToken current_token = CurrentToken::merge,
                      BlockOrder block = BlockOrder::early_q) {
  return {.block = block,
          .current_token = current_token,
          .contexts = {10},
          .tokens = 2,
          .split = split,
          .softmax = softmax};
}

const Operation& find(const Graph& graph, OpKind kind, std::size_t shard, std::size_t step) {
  const auto found = std::ranges::find_if(graph.operations, [&](const Operation& operation) {
    return operation.kind == kind && operation.layer == LayerId(1) && operation.shard == shard &&
           operation.step == StepId(step);
  });
  REQUIRE(found != graph.operations.end());
  return *found;
}

/// "value<-kind/shard ..." of all inputs.
std::string reads(const Graph& graph, const Operation& operation) {
  std::string text;
  for (const Edge& edge : operation.inputs) {
    const Operation& from = graph[edge.from];
    CHECK(from.layer == operation.layer);
    text += text.empty() ? "" : " ";
    text += std::string(name_of(edge.value)) + "<-" + std::string(name_of(from.kind)) + "/" +
            std::to_string(from.shard);
  }
  return text;
}

std::size_t count(const Graph& graph, OpKind kind) {
  return static_cast<std::size_t>(std::ranges::count(graph.operations, kind, &Operation::kind));
}

}  // namespace

TEST_CASE("calibrated graph: with the exact softmax nothing is different") {
  const ModelShape shape = test::tiny_shape();
  GraphConfig plain = config_of({});
  GraphConfig asked = config_of({.unit = {}, .calibration = Calibration::row});
  const Graph a = make_graph(shape, plain);
  const Graph b = make_graph(shape, asked);
  REQUIRE(a.operations.size() == b.operations.size());
  for (std::size_t i = 0; i < a.operations.size(); ++i) {
    CHECK(a.operations[i].kind == b.operations[i].kind);
    CHECK(a.operations[i].inputs == b.operations[i].inputs);
  }
  CHECK(count(a, OpKind::scores) == 0);
}

TEST_CASE("calibrated graph: history, one cache device") {
  const Graph graph = make_graph(test::tiny_shape(), config_of({min_max, Calibration::history}));
  CHECK(count(graph, OpKind::sweep) == 0);
  CHECK(count(graph, OpKind::scores) == 6);
  CHECK(count(graph, OpKind::values) == 6);
  CHECK(reads(graph, find(graph, OpKind::scores, 0, 0)) == "q<-q/0");
  CHECK(reads(graph, find(graph, OpKind::scores, 0, 1)) == "q<-q/0 order<-append/0");
  CHECK(reads(graph, find(graph, OpKind::values, 0, 1)) == "scores<-scores/0 extrema<-scores/0");
  CHECK(find(graph, OpKind::scores, 0, 1).positions == 11);
  CHECK(find(graph, OpKind::values, 0, 1).positions == 11);
  CHECK(reads(graph, find(graph, OpKind::merge, 0, 0)) ==
        "q<-q/0 k<-kv/0 v<-kv/0 partial<-values/0");
}

TEST_CASE("calibrated graph: row brings the key to every holder of the row, the weight back once") {
  const SoftmaxChoice row{min_max, Calibration::row};
  const Graph one = make_graph(test::tiny_shape(), config_of(row));
  CHECK(reads(one, find(one, OpKind::values, 0, 0)) ==
        "scores<-scores/0 extrema<-scores/0 q<-q/0 k<-kv/0");
  CHECK(reads(one, find(one, OpKind::merge, 0, 0)) == "v<-kv/0 weight<-values/0 partial<-values/0");
  const Graph early =
      make_graph(test::tiny_shape(), config_of(row, {}, CurrentToken::merge, BlockOrder::early_qk));
  CHECK(reads(early, find(early, OpKind::values, 0, 0)) ==
        "scores<-scores/0 extrema<-scores/0 q<-q/0 k<-k/0");
  const Graph split = make_graph(test::tiny_shape(), config_of(row, {2, SplitBy::positions}));
  CHECK(reads(split, find(split, OpKind::values, 1, 0)) ==
        "scores<-scores/1 extrema<-scores/0 extrema<-scores/1 q<-q/0 k<-kv/0");
  CHECK(reads(split, find(split, OpKind::merge, 0, 0)) ==
        "v<-kv/0 weight<-values/0 partial<-values/0 partial<-values/1");
}

TEST_CASE("calibrated graph: split by heads every device has its own rows and weights") {
  const Graph graph =
      make_graph(test::tiny_shape(), config_of({min_max, Calibration::row}, {2, SplitBy::heads}));
  CHECK(reads(graph, find(graph, OpKind::values, 1, 0)) ==
        "scores<-scores/1 extrema<-scores/1 q<-q/0 k<-kv/0");
  CHECK(reads(graph, find(graph, OpKind::merge, 0, 0)) ==
        "v<-kv/0 weight<-values/0 weight<-values/1 partial<-values/0 partial<-values/1");
  CHECK(find(graph, OpKind::values, 1, 0).part == Part{1, 2});
}

TEST_CASE("calibrated graph: append_first has the current token among the rows") {
  for (const auto& [calibration, name] : enum_names<Calibration>) {
    const Graph graph = make_graph(
        test::tiny_shape(), config_of({min_max, calibration}, {}, CurrentToken::append_first));
    CHECK(reads(graph, find(graph, OpKind::scores, 0, 0)) == "q<-q/0 order<-append/0");
    CHECK(reads(graph, find(graph, OpKind::values, 0, 0)) == "scores<-scores/0 extrema<-scores/0");
    CHECK(find(graph, OpKind::values, 0, 0).positions == 11);
    CHECK(count(graph, OpKind::merge) == 0);
  }
}

TEST_CASE("calibrated values: each slice holds what its name says, and travels in fp32") {
  const ModelShape shape = test::tiny_shape();  // 4 heads on 2, of 8
  const Graph graph = make_graph(shape, config_of({min_max, Calibration::row}));
  const Operation& scores = find(graph, OpKind::scores, 0, 0);
  const Operation& values = find(graph, OpKind::values, 0, 0);
  CHECK(output_size(shape, scores) == 4 * (2 + 10));
  CHECK(slice_of(shape, scores, {ValueKind::extrema, {}}).count == 8);
  CHECK(slice_of(shape, scores, {ValueKind::scores, {}}).offset == 8);
  CHECK(slice_of(shape, scores, {ValueKind::scores, {}}).count == 40);
  CHECK(output_size(shape, values) == 32 + 3 * 4);
  CHECK(slice_of(shape, values, {ValueKind::weight, {}}).offset == 36);
  CHECK(slice_of(shape, values, {ValueKind::weight, {}}).count == 4);
  CHECK(slice_of(shape, values, {ValueKind::partial, {}}).count == 36);

  std::vector<float> output(output_size(shape, scores));
  for (std::size_t i = 0; i < output.size(); ++i) {
    output[i] = 1 + 1e-6F * static_cast<float>(i);  // nothing that bf16 could tell apart
  }
  const CountingRules rules{shape, {}};
  for (const Carried carried : {Carried{ValueKind::extrema, {}}, Carried{ValueKind::weight, {}}}) {
    const Operation& producer = carried.value == ValueKind::weight ? values : scores;
    std::vector<std::byte> payload;
    encode_value(shape, {}, producer, carried, output, payload);
    CHECK(payload.size() == static_cast<std::size_t>(value_bytes(rules, carried).value()));
    std::vector<float> received(output.size());
    CHECK(decode_value(shape, {}, producer, carried, payload, received).empty());
    const Slice slice = slice_of(shape, producer, carried);
    CHECK(std::equal(received.begin() + static_cast<std::ptrdiff_t>(slice.offset),
                     received.begin() + static_cast<std::ptrdiff_t>(slice.offset + slice.count),
                     output.begin() + static_cast<std::ptrdiff_t>(slice.offset)));
  }
  std::vector<std::byte> payload;
  CHECK_THROWS_AS(encode_value(shape, {}, scores, {ValueKind::scores, {}}, output, payload),
                  std::logic_error);
  std::vector<float> kept = output;
  round_output(shape, {}, scores, kept);
  CHECK(kept == output);  // scores and extrema lose nothing in memory
}

TEST_CASE("calibrated work: each phase half of the sweep's bytes and multiply-accumulates") {
  const ModelShape shape = test::qwen3_0_6b();
  GraphConfig config = config_of({min_max, Calibration::history});
  config.contexts = {1024};
  const Graph graph = make_graph(shape, config);
  GraphConfig plain = config_of({});
  plain.contexts = {1024};
  const Graph exact = make_graph(shape, plain);
  CountingRules rules{shape, {}, Accounting::full, {.softmax = config.softmax}};
  const auto work = [](const Graph& from, OpKind kind, const CountingRules& counted) {
    const Operation* operation = &find(from, kind, 0, 0);
    return work_of(counted, {&operation, 1});
  };
  const Work sweep = work(exact, OpKind::sweep, {shape, {}, Accounting::full});
  const Work first = work(graph, OpKind::scores, rules);
  const Work second = work(graph, OpKind::values, rules);
  CHECK(first.kv_read_bytes == Bytes(1024 * 2048));
  CHECK(second.kv_read_bytes == Bytes(1024 * 2048));
  CHECK(first.macs + second.macs == sweep.macs);
  CHECK(first.exps == Exps(0));
  CHECK(second.exps == Exps(16 * 5));  // K + 1 a head, where the exact one has 16 * 1024
  CHECK(sweep.exps == Exps(16 * 1024));
  CHECK(first.launches + second.launches == 2);
  // In: q; out: two extrema a head. Then: extrema in, o and lse out.
  CHECK(first.activation_bytes == Bytes(4096 + 128));
  CHECK(second.activation_bytes == Bytes(128 + 4096 + 64));
  CHECK(first.weight_bytes + second.weight_bytes == Bytes(0));
}

TEST_CASE("calibrated work: row also reads q and k, scores the key and returns its weight") {
  const ModelShape shape = test::qwen3_0_6b();
  GraphConfig config = config_of({{.kind = SoftmaxKind::bf16_exp}, Calibration::row});
  config.contexts = {1024};
  const Graph graph = make_graph(shape, config);
  const Operation* values = &find(graph, OpKind::values, 0, 0);
  const Work work =
      work_of({shape, {}, Accounting::full, {.softmax = config.softmax}}, {&values, 1});
  CHECK(work.activation_bytes == Bytes(128 + 4096 + 2048 + (4096 + 64) + 64));
  CHECK(work.macs == Macs(2048 * 1025));
  CHECK(work.exps == Exps(16 * 1025));
  CHECK(work.kv_read_bytes == Bytes(1024 * 2048));
}

TEST_CASE("calibrated work: scores that do not fit on chip are written once and read once") {
  const ModelShape shape = test::qwen3_0_6b();
  GraphConfig config = config_of({min_max, Calibration::history});
  config.contexts = {1000, 1000};
  const Graph graph = make_graph(shape, config);
  const std::int64_t scores = 2 * 16 * 1000 * 4;  // two members
  const auto bytes = [&](OpKind kind, std::optional<Bytes> room, Accounting accounting) {
    std::vector<const Operation*> members;
    for (const Operation& operation : graph.operations) {
      if (operation.kind == kind && operation.layer == LayerId(0) && operation.step == StepId(0)) {
        members.push_back(&operation);
      }
    }
    REQUIRE(members.size() == 2);
    const CountingRules rules{
        shape, {}, accounting, {.softmax = config.softmax, .score_buffer = room}};
    return work_of(rules, members).activation_bytes;
  };
  for (const OpKind kind : {OpKind::scores, OpKind::values}) {
    const Bytes all = bytes(kind, std::nullopt, Accounting::full);
    CHECK(bytes(kind, Bytes(scores), Accounting::full) == all);
    CHECK(bytes(kind, Bytes(scores - 1), Accounting::full) == all + Bytes(1));
    CHECK(bytes(kind, Bytes(0), Accounting::full) == all + Bytes(scores));
    CHECK(bytes(kind, Bytes(0), Accounting::weights_and_sweep) == Bytes(0));
  }
  CHECK(bytes(OpKind::q, Bytes(0), Accounting::full) ==
        bytes(OpKind::q, std::nullopt, Accounting::full));
}

}  // namespace qfs
