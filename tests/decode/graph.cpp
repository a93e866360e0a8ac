// The layer as a graph: which operations a block order has, what they read, what waits for what.
#include "decode/graph.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

Graph graph_of(BlockOrder block, CurrentToken current_token = CurrentToken::merge,
               std::size_t tokens = 1, std::vector<std::size_t> contexts = {5}) {
  return make_graph(test::tiny_shape(), {block, current_token, true, std::move(contexts), tokens});
}

const Operation& find(const Graph& graph, OpKind kind, std::size_t layer, std::size_t step = 0) {
  const auto found =
      std::find_if(graph.operations.begin(), graph.operations.end(), [&](const Operation& op) {
        return op.kind == kind && op.layer == LayerId(layer) && op.step == StepId(step);
      });
  REQUIRE(found != graph.operations.end());
  return *found;
}

/// "x<-o" for an edge that reads the residual stream after an `o`.
std::string reads(const Graph& graph, const Operation& operation) {
  std::string text;
  for (const Edge& edge : operation.inputs) {
    text += std::string(text.empty() ? "" : " ") + std::string(name_of(edge.value)) + "<-" +
            std::string(name_of(graph[edge.from].kind)) + "@" +
            std::to_string(graph[edge.from].layer.value());
  }
  return text;
}

std::string kinds(const Graph& graph) {
  std::string text;
  for (const Operation& op : graph.operations) {
    text += std::string(text.empty() ? "" : " ") + std::string(name_of(op.kind));
  }
  return text;
}

}  // namespace

TEST_CASE("standard: attention first, the feed-forward reads what it wrote") {
  const Graph graph = graph_of(BlockOrder::standard);
  CHECK(reads(graph, find(graph, OpKind::q, 1)) == "residual<-ffn@0");
  CHECK(reads(graph, find(graph, OpKind::kv, 1)) == "residual<-ffn@0");
  CHECK(reads(graph, find(graph, OpKind::sweep, 1)) == "q<-q@1");
  CHECK(reads(graph, find(graph, OpKind::merge, 1)) == "q<-q@1 k<-kv@1 v<-kv@1 partial<-sweep@1");
  CHECK(reads(graph, find(graph, OpKind::o, 1)) == "attention<-merge@1 residual<-ffn@0");
  CHECK(reads(graph, find(graph, OpKind::ffn, 1)) == "residual<-o@1");
  CHECK(reads(graph, find(graph, OpKind::append, 1)) == "k<-kv@1 v<-kv@1");
  CHECK(reads(graph, find(graph, OpKind::lm_head, 2)) == "residual<-ffn@2");
}

TEST_CASE("swapped: the feed-forward first, all projections read what it wrote") {
  const Graph graph = graph_of(BlockOrder::swapped);
  CHECK(reads(graph, find(graph, OpKind::ffn, 1)) == "residual<-o@0");
  CHECK(reads(graph, find(graph, OpKind::q, 1)) == "residual<-ffn@1");
  CHECK(reads(graph, find(graph, OpKind::kv, 1)) == "residual<-ffn@1");
  CHECK(reads(graph, find(graph, OpKind::o, 1)) == "attention<-merge@1 residual<-ffn@1");
}

TEST_CASE("early_q differs from swapped in one edge: where the query reads") {
  const Graph swapped = graph_of(BlockOrder::swapped);
  const Graph early = graph_of(BlockOrder::early_q);
  REQUIRE(swapped.operations.size() == early.operations.size());
  std::size_t differing = 0;
  for (std::size_t i = 0; i < early.operations.size(); ++i) {
    CHECK(early.operations[i].kind == swapped.operations[i].kind);
    if (early.operations[i].inputs != swapped.operations[i].inputs) {
      CHECK(early.operations[i].kind == OpKind::q);
      ++differing;
    }
  }
  CHECK(differing == test::tiny_shape().layers);
  CHECK(reads(early, find(early, OpKind::q, 0)) == "residual<-embed@0");
  CHECK(reads(early, find(early, OpKind::q, 1)) == "residual<-o@0");
}

TEST_CASE("append_first: projections of one input are one product, and there is no merge") {
  const Graph standard = graph_of(BlockOrder::standard, CurrentToken::append_first);
  CHECK(kinds(standard) ==
        "embed qkv append sweep o ffn qkv append sweep o ffn qkv append sweep o ffn lm_head");
  CHECK(reads(standard, find(standard, OpKind::sweep, 1)) == "q<-qkv@1 order<-append@1");
  CHECK(reads(standard, find(standard, OpKind::o, 1)) == "partial<-sweep@1 residual<-ffn@0");
  const Graph early = graph_of(BlockOrder::early_q, CurrentToken::append_first);
  CHECK(find(early, OpKind::q, 0).inputs != find(early, OpKind::kv, 0).inputs);
}

TEST_CASE("a token sweeps what was cached before it, and waits for it to land") {
  const Graph merge = graph_of(BlockOrder::early_q, CurrentToken::merge, 3);
  const Graph append = graph_of(BlockOrder::early_q, CurrentToken::append_first, 3);
  for (std::size_t step = 0; step < 3; ++step) {
    CHECK(find(merge, OpKind::sweep, 1, step).positions == 5 + step);
    CHECK(find(append, OpKind::sweep, 1, step).positions == 5 + step + 1);
    CHECK(find(merge, OpKind::q, 1, step).position == 5 + step);
  }
  CHECK(reads(merge, find(merge, OpKind::sweep, 1, 1)) == "q<-q@1 order<-append@1");
  const Operation& waits = find(merge, OpKind::sweep, 1, 1);
  CHECK(merge[waits.inputs[1].from].step == StepId(0));
  CHECK(reads(merge, find(merge, OpKind::embed, 0, 1)) == "token<-lm_head@2");
}

TEST_CASE("without LM head the next token only waits for the stack") {
  const Graph graph =
      make_graph(test::tiny_shape(), {BlockOrder::standard, CurrentToken::merge, false, {0}, 2});
  CHECK(reads(graph, find(graph, OpKind::embed, 0, 1)) == "order<-ffn@2");
}

TEST_CASE("graphs of several requests do not touch") {
  const Graph graph = graph_of(BlockOrder::early_q, CurrentToken::merge, 2, {5, 9, 0});
  CHECK(graph.operations.size() ==
        3 * graph_of(BlockOrder::early_q, CurrentToken::merge, 2).operations.size());
  for (const Operation& op : graph.operations) {
    for (const Edge& edge : op.inputs) {
      CHECK(edge.from < op.id);
      CHECK(graph[edge.from].request == op.request);
    }
  }
}

}  // namespace qfs
