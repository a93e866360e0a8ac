// 001 section 6 through the simulated devices, bit for bit: a stack of fused blocks between two
// half blocks is another stack, drawn with other boundaries.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "decode/layer_graph.hpp"
#include "sim/run/isolate.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/numeric_run.hpp"

namespace qfs {
namespace {

using test::NumericCase;
using test::NumericRun;

/// A stack of `fused` blocks of the feed-forward of layer i and the attention of layer i + 1, half
/// a block at each end. Written in the words of layer_graph.hpp, apart from make_graph().
class FusedStack {
 public:
  FusedStack(const ModelShape& shape, const GraphConfig& config, BlockOrder fused)
      : layers_(shape.layers), config_(config), fused_(fused) {
    for (RequestId request{0}; request.value() < config.contexts.size(); ++request) {
      add_request(request);
    }
  }
  Graph take() { return std::move(graph_); }

 private:
  using Inputs = Edges;

  void add_request(RequestId request) {
    const std::size_t context = config_.contexts[request.value()];
    const CacheSplit split = cache_split(config_);
    const ShardPlan plan(split, request.value(), context, config_.tokens);
    const LayerSetting setting{
        .current_token = config_.current_token,
        .ranks = config_.ranks,
        .shards = split.devices,
        .by_heads = split.by == SplitBy::heads,
        .fused_qkv = config_.fuse_qkv && config_.current_token == CurrentToken::append_first,
        .hold_residual = config_.hold_residual,
        .plan = plan};
    std::vector<LastAppends> landed(layers_, LastAppends(split.devices));
    std::vector<Inputs> previous(config_.ranks);
    for (StepId step{0}; step.value() < config_.tokens; ++step) {
      Operation origin;
      origin.request = request;
      origin.step = step;
      origin.position = context + step.value();
      const StreamPoint x = add_each(OpKind::embed, origin, previous);
      const StreamPoint out = add_layers(origin, setting, landed, x);
      previous = add_end(origin, out);
    }
  }

  StreamPoint add_layers(Operation& origin, const LayerSetting& setting,
                         std::vector<LastAppends>& landed, const StreamPoint& x) {
    LayerBuilder first(graph_, setting, origin, landed.front());
    const StreamPoint y = first.output(first.attention({.q = x, .k = x, .v = x}), x);
    StreamPoints at{.now = y, .before_ffn = x, .input = x};
    for (std::size_t layer = 1; layer < layers_; ++layer) {
      origin.layer = LayerId(layer);
      LayerBuilder block(graph_, setting, origin, landed[layer]);
      const std::size_t begin = graph_.operations.size();
      at = add_layer(fused_, block, at);
      for (std::size_t i = begin; i < graph_.operations.size(); ++i) {
        Operation& operation = graph_.operations[i];
        if (operation.kind == OpKind::ffn || operation.kind == OpKind::reduce_ffn) {
          operation.layer = LayerId(layer - 1);
        }
      }
    }
    LayerBuilder last(graph_, setting, origin, landed.back());
    return last.feed_forward(at.now);
  }

  std::vector<Inputs> add_end(const Operation& origin, const StreamPoint& out) {
    std::vector<Inputs> waits;
    std::vector<Inputs> reads;
    for (const OpId writer : out.writers) {
      waits.push_back({{writer, ValueKind::order}});
      reads.push_back({{writer, ValueKind::residual}});
    }
    if (!config_.lm_head) {
      return waits;
    }
    Inputs chosen;
    for (const OpId head : add_each(OpKind::lm_head, origin, reads).writers) {
      chosen.push_back({head, config_.ranks == 1 ? ValueKind::token : ValueKind::candidate});
    }
    return std::vector<Inputs>(config_.ranks, chosen);
  }

  StreamPoint add_each(OpKind kind, Operation origin, const std::vector<Inputs>& inputs) {
    StreamPoint added;
    for (std::size_t rank = 0; rank < config_.ranks; ++rank) {
      origin.shard = rank;
      origin.part = {rank, config_.ranks};
      added.writers.push_back(graph_.add(kind, origin, inputs[rank]));
    }
    return added;
  }

  std::size_t layers_;
  const GraphConfig& config_;
  BlockOrder fused_;
  Graph graph_;
};

/// The fused stack through the system of the case; `c.block` is the stack that it must be.
NumericRun run_fused(const NumericCase& c, BlockOrder fused) {
  const SystemConfig config = test::system_config(c);
  return test::run_graph(config, FusedStack(config.rules.shape, config.graph, fused).take(),
                         test::inputs_of(c));
}

std::vector<NumericCase> systems(BlockOrder block) {
  std::vector<NumericCase> cases;
  for (const Formats& formats : {test::fp32_throughout, test::bf16_wire, Formats{}}) {
    for (const CurrentToken token : {CurrentToken::merge, CurrentToken::append_first}) {
      for (const bool lm_head : {true, false}) {
        NumericCase c{
            .block = block, .current_token = token, .formats = formats, .lm_head = lm_head};
        cases.push_back(c);
        c.split = {3, SplitBy::any};
        cases.push_back(c);
        c.arrangement = Arrangement::pooled;
        cases.push_back(c);
        c.split = {};
        cases.push_back(c);
        c.pool.projections = Projections::pool;
        c.pool.instances = 2;
        cases.push_back(c);
        c.pool = {};
        c.arrangement = Arrangement::colocated;
        cases.push_back(c);
        c.arrangement = Arrangement::tensor_parallel;
        c.ranks = 2;
        cases.push_back(c);
      }
    }
  }
  return cases;
}

void check_same_bits(BlockOrder fused, BlockOrder whole) {
  const std::vector<NumericCase> cases = systems(whole);
  std::vector<std::function<NumericRun()>> tasks;
  for (const NumericCase& c : cases) {
    tasks.emplace_back([&c, fused] { return run_fused(c, fused); });
    tasks.emplace_back([&c] { return test::run_numeric(c); });
  }
  const std::vector<NumericRun> runs = run_isolated(tasks, default_jobs());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(test::text_of(cases[i]));
    const NumericRun& one = runs[2 * i];
    const NumericRun& other = runs[2 * i + 1];
    CHECK(one.report.passed());
    CHECK(other.report.passed());
    REQUIRE(other.outputs.size() == 4 * 3 * cases[i].ranks);
    CHECK(one.outputs == other.outputs);
    CHECK(one.tokens == other.tokens);
  }
}

}  // namespace

TEST_CASE("swapped blocks between two half blocks are the standard stack bit for bit") {
  check_same_bits(BlockOrder::swapped, BlockOrder::standard);
}

TEST_CASE("early_q blocks between two half blocks are the shifted_q stack bit for bit") {
  check_same_bits(BlockOrder::early_q, BlockOrder::shifted_q);
}

TEST_CASE("one arrangement's fused stack has the bits of another's plain one") {
  // Nothing is split, so that no sum is bracketed otherwise: only places, batches and times differ.
  NumericCase c{.block = BlockOrder::shifted_q, .formats = test::bf16_wire};
  NumericCase plain = c;
  plain.arrangement = Arrangement::colocated;
  NumericCase pooled = c;
  pooled.arrangement = Arrangement::pooled;
  const std::vector<std::function<NumericRun()>> tasks{
      [&] { return run_fused(c, BlockOrder::early_q); },
      [&] { return run_fused(pooled, BlockOrder::early_q); },
      [&] { return test::run_numeric(plain); }};
  const std::vector<NumericRun> runs = run_isolated(tasks, default_jobs());
  CHECK(runs[0].outputs == runs[2].outputs);
  CHECK(runs[1].outputs == runs[2].outputs);
}

TEST_CASE("stacks that are not each other's are not taken for it") {
  const auto runs_of = [](BlockOrder fused, BlockOrder whole) {
    const NumericCase c{.block = whole};
    const std::vector<std::function<NumericRun()>> tasks{[=] { return run_fused(c, fused); },
                                                         [=] { return test::run_numeric(c); }};
    return run_isolated(tasks, 2);
  };
  for (const auto& [fused, whole] : {std::pair{BlockOrder::early_q, BlockOrder::standard},
                                     std::pair{BlockOrder::swapped, BlockOrder::shifted_q}}) {
    const std::vector<NumericRun> runs = runs_of(fused, whole);
    CHECK(runs[0].outputs[6] != runs[1].outputs[6]);  // of a request that has a cache
    CHECK(!runs[0].report.graph_passed());            // the reference decoder says so, too
    CHECK(runs[1].report.passed());
  }
}

TEST_CASE("standard and shifted_q are different functions of the same weights") {
  std::vector<std::function<NumericRun()>> tasks;
  for (const BlockOrder block : {BlockOrder::standard, BlockOrder::shifted_q}) {
    tasks.emplace_back([block] { return test::run_numeric({.block = block}); });
  }
  const std::vector<NumericRun> runs = run_isolated(tasks, 2);
  double apart = 0;
  for (std::size_t i = 0; i < runs[0].outputs[6].size(); ++i) {
    apart = std::max(apart, std::abs(double{runs[0].outputs[6][i]} - runs[1].outputs[6][i]));
  }
  CHECK(apart > 1e-2);
}

}  // namespace qfs
