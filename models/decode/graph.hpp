// The graph of one request's decode steps. Edges only; who executes an operation and what it costs
// is not known here.
#pragma once

#include <vector>

#include "decode/block_order.hpp"
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
};

/// The steps of all requests. Step t of a request waits for its step t - 1: the input for the
/// token, and the sweep of each layer for that layer's append.
Graph make_graph(const ModelShape& shape, const GraphConfig& config);

/// Who waits for a value of an operation.
struct Consumer {
  OpId operation;
  ValueKind value = ValueKind::order;
};

}  // namespace qfs
