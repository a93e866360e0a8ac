// A decode step is a graph of operations. This is one of them: what it does, whose it is and which
// values it waits for.
#pragma once

#include <cstddef>
#include <vector>

#include "base/enum_names.hpp"
#include "base/ids.hpp"

namespace qfs {

/// In program order within a layer (the last key of the scheduling rule). Norms, rotary, query/key
/// norm and residual adds belong to the operation that consumes or produces them.
enum class OpKind {
  embed,    // the token's row of the embedding, or a seeded vector: the input of the stack
  q,        // norm, Wq, query norm, rotary
  k,        // norm, Wk, key norm, rotary
  v,        // norm, Wv
  kv,       // k and v of one input in one product
  qkv,      // q, k and v of one input in one product
  append,   // a memory write of the current k and v into the cache; takes no executor slot
  sweep,    // attention of the query over the cached positions: (o, lse) per head
  merge,    // the current token folded into the sweep's result
  o,        // Wo and the residual
  ffn,      // norm, gate, up, SwiGLU, down and the residual
  lm_head,  // final norm, vocabulary product, arg max
};

template <>
inline constexpr EnumNames<OpKind, 12> enum_names<OpKind>{{
    {OpKind::embed, "embed"},
    {OpKind::q, "q"},
    {OpKind::k, "k"},
    {OpKind::v, "v"},
    {OpKind::kv, "kv"},
    {OpKind::qkv, "qkv"},
    {OpKind::append, "append"},
    {OpKind::sweep, "sweep"},
    {OpKind::merge, "merge"},
    {OpKind::o, "o"},
    {OpKind::ffn, "ffn"},
    {OpKind::lm_head, "lm_head"},
}};

/// What travels along an edge.
enum class ValueKind {
  residual,   // the stream: hidden values
  q,          // every query head
  k,          // every KV head
  v,          // every KV head
  partial,    // (o, lse) of every query head: o first, then the lse
  attention,  // o of every query head, complete
  token,      // the arg max
  order,      // nothing: the consumer only waits
};

template <>
inline constexpr EnumNames<ValueKind, 8> enum_names<ValueKind>{{
    {ValueKind::residual, "residual"},
    {ValueKind::q, "q"},
    {ValueKind::k, "k"},
    {ValueKind::v, "v"},
    {ValueKind::partial, "partial"},
    {ValueKind::attention, "attention"},
    {ValueKind::token, "token"},
    {ValueKind::order, "order"},
}};

/// The value that `from` makes and the holder of the edge needs.
struct Edge {
  OpId from;
  ValueKind value = ValueKind::order;
  bool operator==(const Edge&) const = default;
};

struct Operation {
  OpId id;
  OpKind kind = OpKind::embed;
  LayerId layer;
  StepId step;
  RequestId request;
  std::size_t position = 0;   // of the current token
  std::size_t positions = 0;  // sweep: cached rows to attend over
  /// In the order in which the kernel takes its arguments (device_numerics.cpp); order edges last.
  std::vector<Edge> inputs;
};

}  // namespace qfs
