// One layer of one step as operations, and the block orders: which edges a layer has.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "decode/cache_split.hpp"
#include "decode/graph.hpp"

namespace qfs {

/// The operation after which the residual stream holds the value that a reader wants; of tensor
/// parallel ranks each has a stream of its own, of the same values.
struct StreamPoint {
  std::vector<OpId> writers;  // by rank
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

/// What the layers of one request have in common.
struct LayerSetting {
  CurrentToken current_token = CurrentToken::merge;
  std::size_t ranks = 1;
  std::size_t shards = 1;  // sweeps a layer: of a split cache, or one a rank
  bool by_heads = false;   // each shard sweeps its part of the heads
  bool fused_qkv = false;  // q, k and v of one stream point are one product
  bool hold_residual = false;
  bool two_phases = false;           // of a calibrated sweep
  bool weigh_current_token = false;  // in the second
  const ShardPlan& plan;
};

/// The last append to each shard of one layer's cache in this run.
using LastAppends = std::vector<std::optional<OpId>>;

/// Adds the operations of one layer to the graph. The block orders are written in these words.
class LayerBuilder {
 public:
  /// `landed` is renewed by the appends of this layer. All references outlive it.
  LayerBuilder(Graph& graph, const LayerSetting& setting, const Operation& origin,
               LastAppends& landed);

  /// q, k, v, the sweeps, the appends and the merge; gives the operation that holds the attention
  /// output, by rank.
  Edges attention(const ReadPoints& read);
  /// x + Wo a.
  StreamPoint output(const Edges& attention, const StreamPoint& x);
  /// x + M(x).
  StreamPoint feed_forward(const StreamPoint& x);

 private:
  /// Of one rank.
  struct Projections {
    OpId q;
    OpId k;
    OpId v;
  };
  [[nodiscard]] Part part_of_rank(std::size_t rank) const { return {rank, setting_.ranks}; }
  [[nodiscard]] Part part_of_shard(std::size_t shard) const;
  OpId add(OpKind kind, std::size_t shard, Part part, Edges inputs);
  OpId project(OpKind kind, std::size_t rank, const StreamPoint& x);
  Projections project_all(std::size_t rank, const ReadPoints& read);
  std::optional<OpId> append(std::size_t shard, const Projections& made);
  OpId sweep(std::size_t shard, const Projections& made);
  OpId values(std::size_t shard, const Projections& made, const std::vector<OpId>& scores);
  std::vector<OpId> sweep_all(std::size_t rank, const Projections& made);
  Edge merge(std::size_t rank, const Projections& made, const std::vector<OpId>& sweeps);
  StreamPoint reduce(OpKind kind, const std::vector<OpId>& sums, const StreamPoint& x);
  StreamPoint held(const StreamPoint& x);

  Graph& graph_;
  const LayerSetting& setting_;
  Operation origin_;  // layer, step, request, position of everything added
  LastAppends& landed_;
};

/// The layer of `block` on the stream at `at`; returns where the stream stands after it.
StreamPoints add_layer(BlockOrder block, LayerBuilder& layer, const StreamPoints& at);

}  // namespace qfs
