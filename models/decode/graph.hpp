// The graph of one request's decode steps. Edges only; who executes an operation and what it costs
// is not known here.
#pragma once

#include <vector>

#include "decode/block_order.hpp"
#include "decode/cache_split.hpp"
#include "decode/model_shape.hpp"
#include "decode/operation.hpp"
#include "decode/softmax_choice.hpp"

namespace qfs {

struct Graph {
  std::vector<Operation> operations;  // operations[i].id == i; producers stand before consumers
  [[nodiscard]] const Operation& operator[](OpId id) const { return operations[id.value()]; }
  [[nodiscard]] Operation& operator[](OpId id) { return operations[id.value()]; }
  /// Adds an operation of the request, layer, step and position of `origin`; gives its id.
  OpId add(OpKind kind, Operation origin, Edges inputs);
};

struct GraphConfig {
  BlockOrder block = BlockOrder::standard;
  CurrentToken current_token = CurrentToken::merge;
  bool lm_head = true;
  std::vector<std::size_t> contexts;  // cached positions before the first token, one per request
  std::size_t tokens = 1;             // steps of every request, unless:
  std::vector<std::size_t> request_tokens = {};  // of each, at most `tokens`; empty: alike
  CacheSplit split = {};                         // one sweep for each shard of a cache
  /// Tensor parallel: every operation once for each of so many parts of the heads, the feed-forward
  /// and the vocabulary. Above 1 only with an unsplit cache; divides all of them.
  std::size_t ranks = 1;
  /// q, k and v of one stream point are one product, in append_first; never where q and k, v have
  /// different places.
  bool fuse_qkv = true;
  /// What `o` adds to goes through `hold` first: for a pool that keeps no residual between calls.
  bool hold_residual = false;
  /// With a calibrated unit a sweep is two operations, and shards of the same rows exchange their
  /// extrema between them. Must be that of the devices' AttentionMethod.
  SoftmaxChoice softmax = {};
};

/// Whether the second phase of its sweeps weighs the current token: only where it is merged.
inline bool weighs_current_token(const GraphConfig& config) {
  return config.softmax.is_calibrated() && config.softmax.calibration == Calibration::row &&
         config.current_token == CurrentToken::merge;
}

/// Steps of a request.
inline std::size_t tokens_of(const GraphConfig& config, RequestId request) {
  return config.request_tokens.empty() ? config.tokens : config.request_tokens[request.value()];
}

/// How the caches lie: tensor-parallel ranks hold their heads' share.
CacheSplit cache_split(const GraphConfig& config);

/// The steps of all requests. Step t of a request waits for its step t - 1: the input for the
/// token, and the sweep of each shard of a layer for the last append to that shard.
Graph make_graph(const ModelShape& shape, const GraphConfig& config);

}  // namespace qfs
