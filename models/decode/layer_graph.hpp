// One layer of one step as operations, and the block orders: which edges a layer has.
#pragma once

#include "decode/graph.hpp"

namespace qfs {

/// The operation after which the residual stream holds the value that a reader wants.
struct StreamPoint {
  OpId writer;
};

/// Where the stream stands between two layers, for the orders that read further back than the last
/// write.
struct StreamPoints {
  StreamPoint now;         // the layer's input
  StreamPoint before_ffn;  // before the last feed-forward (before any: the network's input)
  StreamPoint input;       // the network's input
};

/// Where the layer's projections read.
struct ReadPoints {
  StreamPoint q;
  StreamPoint k;
  StreamPoint v;
};

/// Adds the operations of one layer to the graph. The block orders are written in these words.
class LayerBuilder {
 public:
  /// `landed` is the append of this layer in the step before, if there was one in this run.
  LayerBuilder(Graph& graph, CurrentToken current_token, const Operation& origin,
               std::vector<Edge> landed);

  /// q, k, v, the sweep, the append and the merge; gives the operation that holds the attention
  /// output.
  Edge attention(const ReadPoints& read);
  /// x + Wo a.
  StreamPoint output(const Edge& attention, StreamPoint x);
  /// x + M(x).
  StreamPoint feed_forward(StreamPoint x);
  /// This layer's append, once attention() has been called.
  [[nodiscard]] OpId append() const { return append_; }

 private:
  struct Projections {
    OpId q;
    OpId k;
    OpId v;
  };
  OpId add(OpKind kind, std::vector<Edge> inputs);
  OpId project(OpKind kind, StreamPoint x);
  Projections project_all(const ReadPoints& read);

  Graph& graph_;
  CurrentToken current_token_;
  Operation
      origin_;  // layer, step, request, position of everything added; positions before this step
  std::vector<Edge> landed_;
  OpId append_;
};

/// The layer of `block` on the stream at `at`; returns where the stream stands after it.
StreamPoints add_layer(BlockOrder block, LayerBuilder& layer, const StreamPoints& at);

}  // namespace qfs
