// The graph of split caches, of tensor-parallel ranks and of a pool without memory: every edge and
// every count.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "decode/graph.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

std::string text_of(const Part& part) {
  return part.count == 1 ? ""
                         : "/" + std::to_string(part.index) + "of" + std::to_string(part.count);
}

/// "partial<-sweep.2@1" for a value of the operation of shard 2 in layer 1; "/0of2" of a part.
std::string reads(const Graph& graph, const Operation& operation) {
  std::string text;
  for (const Edge& edge : operation.inputs) {
    const Operation& from = graph[edge.from];
    text += text.empty() ? "" : " ";
    text += std::string(name_of(edge.value)) + text_of(edge.part) + "<-" +
            std::string(name_of(from.kind));
    text += from.shard > 0 ? "." + std::to_string(from.shard) : "";
    text += "@" + std::to_string(from.layer.value());
  }
  return text;
}

const Operation& find(const Graph& graph, OpKind kind, std::size_t layer, std::size_t step = 0,
                      std::size_t shard = 0) {
  const auto found =
      std::find_if(graph.operations.begin(), graph.operations.end(), [&](const Operation& op) {
        return op.kind == kind && op.layer == LayerId(layer) && op.step == StepId(step) &&
               op.shard == shard;
      });
  REQUIRE(found != graph.operations.end());
  return *found;
}

std::map<OpKind, std::size_t> counts(const Graph& graph) {
  std::map<OpKind, std::size_t> counts;
  for (const Operation& op : graph.operations) {
    ++counts[op.kind];
  }
  return counts;
}

/// Three layers; the requests have five cached positions.
Graph graph_of(const GraphConfig& config) { return make_graph(test::shape_with_heads(8), config); }

using Counts = std::map<OpKind, std::size_t>;

}  // namespace

TEST_CASE("split by positions: a sweep a shard over its rows, one append, one merge") {
  const Graph graph = graph_of({.block = BlockOrder::early_q,
                                .contexts = {5},
                                .tokens = 3,
                                .split = {.devices = 3, .by = SplitBy::positions}});
  CHECK(counts(graph) == Counts{{OpKind::embed, 3},
                                {OpKind::q, 9},
                                {OpKind::kv, 9},
                                {OpKind::append, 9},
                                {OpKind::sweep, 27},
                                {OpKind::merge, 9},
                                {OpKind::o, 9},
                                {OpKind::ffn, 9},
                                {OpKind::lm_head, 3}});
  // Rows 1 2 2; appended to shards 0, 0 and 1.
  const std::size_t rows[3][3] = {{1, 2, 2}, {2, 2, 2}, {3, 2, 2}};
  for (std::size_t step = 0; step < 3; ++step) {
    for (std::size_t shard = 0; shard < 3; ++shard) {
      const Operation& sweep = find(graph, OpKind::sweep, 1, step, shard);
      CHECK(sweep.positions == rows[step][shard]);
      CHECK(sweep.part == Part{});
    }
  }
  CHECK(find(graph, OpKind::append, 1, 0).positions == 1);
  CHECK(find(graph, OpKind::append, 1, 1).positions == 2);
  CHECK(find(graph, OpKind::append, 1, 2, 1).positions == 2);
  CHECK(reads(graph, find(graph, OpKind::merge, 1)) ==
        "q<-q@1 k<-kv@1 v<-kv@1 partial<-sweep@1 partial<-sweep.1@1 partial<-sweep.2@1");
  CHECK(reads(graph, find(graph, OpKind::o, 1)) == "attention<-merge@1 residual<-ffn@1");
}

TEST_CASE("split by positions: a sweep waits for the last append to its shard and no other") {
  const Graph graph = graph_of({.block = BlockOrder::standard,
                                .contexts = {5},
                                .tokens = 4,
                                .split = {.devices = 3, .by = SplitBy::positions}});
  const auto sweep = [&](std::size_t step, std::size_t shard) {
    return reads(graph, find(graph, OpKind::sweep, 1, step, shard));
  };
  for (std::size_t shard = 0; shard < 3; ++shard) {
    CHECK(sweep(0, shard) == "q<-q@1");
  }
  CHECK(sweep(1, 0) == "q<-q@1 order<-append@1");
  CHECK(sweep(1, 1) == "q<-q@1");
  CHECK(sweep(3, 0) == "q<-q@1 order<-append@1");
  CHECK(sweep(3, 1) == "q<-q@1 order<-append.1@1");
  CHECK(sweep(3, 2) == "q<-q@1");
  // The append of step 1, not that of step 0.
  CHECK(graph[find(graph, OpKind::sweep, 1, 3, 0).inputs[1].from].step == StepId(1));
  CHECK(graph[find(graph, OpKind::sweep, 1, 1, 0).inputs[1].from].step == StepId(0));
  // Rows land in the order of their positions.
  CHECK(reads(graph, find(graph, OpKind::append, 1, 0)) == "k<-kv@1 v<-kv@1");
  CHECK(reads(graph, find(graph, OpKind::append, 1, 1)) == "k<-kv@1 v<-kv@1 order<-append@1");
  CHECK(reads(graph, find(graph, OpKind::append, 1, 2, 1)) == "k<-kv@1 v<-kv@1");
}

TEST_CASE("split by heads: parts of q, k and v, a sweep and an append a shard over all positions") {
  const Graph graph = graph_of({.block = BlockOrder::swapped,
                                .contexts = {5},
                                .tokens = 2,
                                .split = {.devices = 2, .by = SplitBy::heads}});
  CHECK(counts(graph).at(OpKind::append) == 12);
  CHECK(counts(graph).at(OpKind::sweep) == 12);
  CHECK(counts(graph).at(OpKind::merge) == 6);
  for (std::size_t shard = 0; shard < 2; ++shard) {
    const Operation& sweep = find(graph, OpKind::sweep, 2, 1, shard);
    CHECK(sweep.part == Part{shard, 2});
    CHECK(sweep.positions == 6);
    CHECK(find(graph, OpKind::append, 2, 1, shard).part == Part{shard, 2});
    CHECK(find(graph, OpKind::append, 2, 1, shard).positions == 6);
  }
  CHECK(reads(graph, find(graph, OpKind::sweep, 2, 1, 0)) == "q/0of2<-q@2 order<-append@2");
  CHECK(reads(graph, find(graph, OpKind::sweep, 2, 1, 1)) == "q/1of2<-q@2 order<-append.1@2");
  CHECK(reads(graph, find(graph, OpKind::append, 2, 0, 1)) == "k/1of2<-kv@2 v/1of2<-kv@2");
  CHECK(reads(graph, find(graph, OpKind::merge, 2)) ==
        "q<-q@2 k<-kv@2 v<-kv@2 partial/0of2<-sweep@2 partial/1of2<-sweep.1@2");
}

TEST_CASE("append_first on shards: only the one that takes the row waits for it, all are merged") {
  const Graph graph = graph_of({.block = BlockOrder::standard,
                                .current_token = CurrentToken::append_first,
                                .contexts = {5},
                                .tokens = 2,
                                .split = {.devices = 3, .by = SplitBy::positions}});
  CHECK(counts(graph) == Counts{{OpKind::embed, 2},
                                {OpKind::qkv, 6},
                                {OpKind::append, 6},
                                {OpKind::sweep, 18},
                                {OpKind::merge, 6},
                                {OpKind::o, 6},
                                {OpKind::ffn, 6},
                                {OpKind::lm_head, 2}});
  CHECK(reads(graph, find(graph, OpKind::sweep, 0)) == "q<-qkv@0 order<-append@0");
  CHECK(find(graph, OpKind::sweep, 0).positions == 2);  // one of five, and the token's own
  CHECK(reads(graph, find(graph, OpKind::sweep, 0, 0, 1)) == "q<-qkv@0");
  CHECK(find(graph, OpKind::sweep, 0, 0, 1).positions == 2);
  CHECK(reads(graph, find(graph, OpKind::merge, 0)) ==
        "partial<-sweep@0 partial<-sweep.1@0 partial<-sweep.2@0");
  const Operation& own = find(graph, OpKind::sweep, 0, 1);
  CHECK(graph[own.inputs[1].from].step == StepId(1));
}

TEST_CASE("a cache by any split has the plan's rows, none where a shard has none") {
  const CacheSplit split{.devices = 4, .by = SplitBy::any};
  std::size_t empty = 0;
  const GraphConfig config{.block = BlockOrder::parallel,
                           .contexts = std::vector<std::size_t>(12, 9),
                           .tokens = 2,
                           .split = split};
  const Graph graph = make_graph(test::shape_with_heads(8), config);
  for (const Operation& op : graph.operations) {
    const ShardPlan plan(split, op.request.value(), 9, 2);
    if (op.kind == OpKind::sweep) {
      CHECK(op.positions == plan.rows(op.shard, op.step.value()));
      empty += op.positions == 0 ? 1 : 0;
    }
    if (op.kind == OpKind::append) {
      CHECK(plan.takes_append(op.shard, op.step.value()));
    }
  }
  CHECK(counts(graph).at(OpKind::sweep) == 12 * 2 * 3 * 4);
  CHECK(counts(graph).at(OpKind::append) == 12 * 2 * 3);
  CHECK(empty > 0);
}

TEST_CASE("ranks: every operation once a rank on its part, and two all-reduces a layer") {
  const Graph graph =
      graph_of({.block = BlockOrder::standard, .contexts = {5}, .tokens = 2, .ranks = 2});
  Counts want{{OpKind::embed, 4}};
  for (const OpKind kind : {OpKind::q, OpKind::kv, OpKind::append, OpKind::sweep, OpKind::merge,
                            OpKind::o, OpKind::ffn}) {
    want[kind] = 2 * 2 * 3;
  }
  want[OpKind::reduce_o] = 2 * 2 * 3;
  want[OpKind::reduce_ffn] = 2 * 2 * 3;
  want[OpKind::lm_head] = 4;
  CHECK(counts(graph) == want);
  for (const Operation& op : graph.operations) {
    CHECK(op.part == Part{op.shard, 2});
  }
  CHECK(reads(graph, find(graph, OpKind::embed, 0, 1, 1)) ==
        "candidate<-lm_head@2 candidate<-lm_head.1@2");
  CHECK(reads(graph, find(graph, OpKind::q, 0, 0, 1)) == "residual<-embed.1@0");
  CHECK(reads(graph, find(graph, OpKind::q, 1, 0, 1)) == "residual<-reduce_ffn.1@0");
  CHECK(reads(graph, find(graph, OpKind::sweep, 1, 1, 1)) == "q/1of2<-q.1@1 order<-append.1@1");
  CHECK(reads(graph, find(graph, OpKind::append, 1, 0, 1)) == "k/1of2<-kv.1@1 v/1of2<-kv.1@1");
  CHECK(reads(graph, find(graph, OpKind::merge, 1, 0, 1)) ==
        "q/1of2<-q.1@1 k/1of2<-kv.1@1 v/1of2<-kv.1@1 partial/1of2<-sweep.1@1");
  CHECK(reads(graph, find(graph, OpKind::o, 1, 0, 1)) == "attention/1of2<-merge.1@1");
  CHECK(reads(graph, find(graph, OpKind::reduce_o, 1, 0, 1)) ==
        "residual<-reduce_ffn.1@0 sum<-o@1 sum<-o.1@1");
  CHECK(reads(graph, find(graph, OpKind::reduce_ffn, 1, 0, 1)) ==
        "residual<-reduce_o.1@1 sum<-ffn@1 sum<-ffn.1@1");
  CHECK(reads(graph, find(graph, OpKind::ffn, 1, 0, 1)) == "residual<-reduce_o.1@1");
}

TEST_CASE("ranks without LM head: each rank's next input waits for its own stream") {
  const Graph graph = graph_of(
      {.block = BlockOrder::early_q, .lm_head = false, .contexts = {5}, .tokens = 2, .ranks = 2});
  CHECK(reads(graph, find(graph, OpKind::embed, 0, 1, 1)) == "order<-reduce_o.1@2");
  CHECK(counts(graph).count(OpKind::lm_head) == 0);
}

TEST_CASE("ranks hold their heads of the cache, whatever the split says") {
  const GraphConfig config{
      .contexts = {5}, .split = {.devices = 1, .by = SplitBy::positions}, .ranks = 4};
  CHECK(cache_split(config).devices == 4);
  CHECK(cache_split(config).by == SplitBy::heads);
  const GraphConfig plain{.contexts = {5}, .split = {.devices = 3, .by = SplitBy::any}};
  CHECK(cache_split(plain) == plain.split);
}

TEST_CASE("hold: what o adds to passes through it, and nothing else changes") {
  for (const auto& [block, name] : enum_names<BlockOrder>) {
    const Graph held =
        graph_of({.block = block, .contexts = {5}, .tokens = 2, .hold_residual = true});
    const Graph plain = graph_of({.block = block, .contexts = {5}, .tokens = 2});
    CAPTURE(name);
    Counts want = counts(plain);
    want[OpKind::hold] = 2 * 3;
    CHECK(counts(held) == want);
    for (std::size_t layer = 0; layer < 3; ++layer) {
      const std::string plain_o = reads(plain, find(plain, OpKind::o, layer));
      const std::string held_o = reads(held, find(held, OpKind::o, layer));
      const std::string through = reads(held, find(held, OpKind::hold, layer));
      CHECK(held_o == "attention<-merge@" + std::to_string(layer) + " residual<-hold@" +
                          std::to_string(layer));
      CHECK(plain_o == "attention<-merge@" + std::to_string(layer) + " " + through);
      CHECK(reads(held, find(held, OpKind::q, layer)) ==
            reads(plain, find(plain, OpKind::q, layer)));
    }
  }
}

TEST_CASE("projections of one input stay apart where they have different places") {
  const Graph graph = graph_of({.block = BlockOrder::standard,
                                .current_token = CurrentToken::append_first,
                                .contexts = {5},
                                .fuse_qkv = false});
  CHECK(counts(graph).count(OpKind::qkv) == 0);
  CHECK(counts(graph).at(OpKind::q) == 3);
  CHECK(counts(graph).at(OpKind::kv) == 3);
}

}  // namespace qfs
