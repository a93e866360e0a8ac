// A decode step is a graph of operations. This is one of them: what it does, whose it is and which
// values it waits for.
#pragma once

#include <cstddef>
#include <vector>

#include "base/enum_names.hpp"
#include "base/ids.hpp"
#include "decode/part.hpp"

namespace qfs {

/// In program order within a layer (the last key of the scheduling rule). Norms, rotary, query/key
/// norm and residual adds belong to the operation that consumes or produces them.
enum class OpKind {
  embed,       // the token's row of the embedding, or a seeded vector: the input of the stack
  q,           // norm, Wq, query norm, rotary
  k,           // norm, Wk, key norm, rotary
  v,           // norm, Wv
  kv,          // k and v of one input in one product
  qkv,         // q, k and v of one input in one product
  append,      // a memory write of the current k and v into the cache; takes no executor slot
  sweep,       // attention of the query over the cached positions: (o, lse) per head
  scores,      // first phase of a calibrated sweep: reads K, keeps the scores, gives their extrema
  values,      // second phase: reads V; with the extrema of the whole row (o, lse) per head
  merge,       // the current token folded into the sweep's result
  o,           // Wo and the residual
  ffn,         // norm, gate, up, SwiGLU, down and the residual
  reduce_o,    // tensor parallel: the sum of every device's share of o, and the residual
  reduce_ffn,  // likewise of ffn
  hold,     // a residual passes through whoever owns the request, on its way between two calls of a
            // stateless pool
  lm_head,  // final norm, vocabulary product, arg max
};

template <>
inline constexpr EnumNames<OpKind, 17> enum_names<OpKind>{{
    {OpKind::embed, "embed"},
    {OpKind::q, "q"},
    {OpKind::k, "k"},
    {OpKind::v, "v"},
    {OpKind::kv, "kv"},
    {OpKind::qkv, "qkv"},
    {OpKind::append, "append"},
    {OpKind::sweep, "sweep"},
    {OpKind::scores, "scores"},
    {OpKind::values, "values"},
    {OpKind::merge, "merge"},
    {OpKind::o, "o"},
    {OpKind::ffn, "ffn"},
    {OpKind::reduce_o, "reduce_o"},
    {OpKind::reduce_ffn, "reduce_ffn"},
    {OpKind::hold, "hold"},
    {OpKind::lm_head, "lm_head"},
}};

constexpr bool is_reduce(OpKind kind) {
  return kind == OpKind::reduce_o || kind == OpKind::reduce_ffn;
}

/// What travels along an edge. Heads: of the part that the operation or the edge names.
enum class ValueKind {
  residual,   // the stream: hidden values
  q,          // query heads
  k,          // KV heads
  v,          // KV heads
  partial,    // (o, lse) of query heads: o first, then the lse
  extrema,    // of the scores of query heads: the maxima, then the minima
  scores,     // of query heads over the cached positions; they stay on the device
  weight,     // log of what the current token weighs in query heads, on the grid of its row
  attention,  // o of query heads, complete
  sum,        // one device's share of what o or ffn adds to the residual: hidden values
  token,      // the arg max
  candidate,  // the arg max over a part of the vocabulary, and its logit
  order,      // nothing: the consumer only waits
};

template <>
inline constexpr EnumNames<ValueKind, 13> enum_names<ValueKind>{{
    {ValueKind::residual, "residual"},
    {ValueKind::q, "q"},
    {ValueKind::k, "k"},
    {ValueKind::v, "v"},
    {ValueKind::partial, "partial"},
    {ValueKind::extrema, "extrema"},
    {ValueKind::scores, "scores"},
    {ValueKind::weight, "weight"},
    {ValueKind::attention, "attention"},
    {ValueKind::sum, "sum"},
    {ValueKind::token, "token"},
    {ValueKind::candidate, "candidate"},
    {ValueKind::order, "order"},
}};

/// The value that `from` makes and the holder of the edge needs. The part is of the whole model:
/// all of what `from` made, or, of an operation on the whole, a part of its heads.
struct Edge {
  OpId from;
  ValueKind value = ValueKind::order;
  Part part = {};
  bool operator==(const Edge&) const = default;
};

/// What an operation waits for.
using Edges = std::vector<Edge>;

/// A value in a message.
struct Carried {
  ValueKind value = ValueKind::order;
  Part part = {};
  auto operator<=>(const Carried&) const = default;
};
inline Carried carried(const Edge& edge) { return {edge.value, edge.part}; }

struct Operation {
  OpId id;
  OpKind kind = OpKind::embed;
  LayerId layer;
  StepId step;
  RequestId request;
  std::size_t shard = 0;     // of a split cache or a tensor-parallel device; 0 where not split
  Part part = {};            // of heads, feed-forward and vocabulary that the operation works on
  std::size_t position = 0;  // of the current token
  /// Rows of its shard of the cache. Sweep and its phases: to attend over; append: that were there
  /// before.
  std::size_t positions = 0;
  /// In the order in which the kernel takes its arguments (device_numerics.cpp): of one kind of
  /// value by shard; order edges last.
  Edges inputs;
};

/// The operation that reads the query for a sweep: all of it or its first phase.
constexpr bool is_first_of_sweep(OpKind kind) {
  return kind == OpKind::sweep || kind == OpKind::scores;
}
/// A sweep or one of its phases: what reads the cache.
constexpr bool is_of_sweep(OpKind kind) {
  return is_first_of_sweep(kind) || kind == OpKind::values;
}

/// Whether `values` weighs the current token too: it is given its key.
inline bool weighs_current_token(const Operation& operation) {
  return operation.kind == OpKind::values && operation.inputs.back().value == ValueKind::k;
}

}  // namespace qfs
