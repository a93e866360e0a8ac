// The graph of one request's decode steps. Edges only; who executes an operation and what it costs
// is not known here.
#pragma once

#include <vector>

#include "decode/block_order.hpp"
#include "decode/cache_split.hpp"
#include "decode/model_shape.hpp"
#include "decode/operation.hpp"

namespace qfs {

struct Graph {
  std::vector<Operation> operations;  // operations[i].id == i; producers stand before consumers
  [[nodiscard]] const Operation& operator[](OpId id) const { return operations[id.value()]; }
  [[nodiscard]] Operation& operator[](OpId id) { return operations[id.value()]; }
  /// Adds an operation of the request, layer, step and position of `origin`; gives its id.
  OpId add(OpKind kind, Operation origin, std::vector<Edge> inputs);
};

struct GraphConfig {
  BlockOrder block = BlockOrder::standard;
  CurrentToken current_token = CurrentToken::merge;
  bool lm_head = true;
  std::vector<std::size_t> contexts;  // cached positions before the first token, one per request
  std::size_t tokens = 1;             // steps of every request
  CacheSplit split = {};              // one sweep for each shard of a cache
  /// Tensor parallel: every operation once for each of so many parts of the heads, the feed-forward
  /// and the vocabulary. Above 1 only with an unsplit cache; divides all of them.
  std::size_t ranks = 1;
  /// q, k and v of one stream point are one product, in append_first; never where q and k, v have
  /// different places.
  bool fuse_qkv = true;
  /// What `o` adds to goes through `hold` first: for a pool that keeps no residual between calls.
  bool hold_residual = false;
};

/// How the caches lie: tensor-parallel ranks hold their heads' share.
CacheSplit cache_split(const GraphConfig& config);

/// The steps of all requests. Step t of a request waits for its step t - 1: the input for the
/// token, and the sweep of each shard of a layer for the last append to that shard.
Graph make_graph(const ModelShape& shape, const GraphConfig& config);

}  // namespace qfs
