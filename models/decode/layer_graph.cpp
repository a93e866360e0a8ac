#include "decode/layer_graph.hpp"

#include <stdexcept>
#include <utility>

namespace qfs {
namespace {

bool same(StreamPoint a, StreamPoint b) { return a.writer == b.writer; }

/// y = x + A; out = y + M(y).
StreamPoints attention_then_ffn(LayerBuilder& layer, const StreamPoints& at,
                                const ReadPoints& read) {
  const StreamPoint y = layer.output(layer.attention(read), at.now);
  return {.now = layer.feed_forward(y), .before_ffn = y, .input = at.input};
}

StreamPoints standard(LayerBuilder& layer, const StreamPoints& at) {
  return attention_then_ffn(layer, at, {.q = at.now, .k = at.now, .v = at.now});
}

StreamPoints shifted_q(LayerBuilder& layer, const StreamPoints& at) {
  return attention_then_ffn(layer, at, {.q = at.before_ffn, .k = at.now, .v = at.now});
}

StreamPoints single_q(LayerBuilder& layer, const StreamPoints& at) {
  return attention_then_ffn(layer, at, {.q = at.input, .k = at.now, .v = at.now});
}

/// out = z + A, after z = x + M(x).
StreamPoints finish_with_attention(LayerBuilder& layer, const StreamPoints& at, StreamPoint z,
                                   const ReadPoints& read) {
  const StreamPoint out = layer.output(layer.attention(read), z);
  return {.now = out, .before_ffn = at.now, .input = at.input};
}

StreamPoints swapped(LayerBuilder& layer, const StreamPoints& at) {
  const StreamPoint z = layer.feed_forward(at.now);
  return finish_with_attention(layer, at, z, {.q = z, .k = z, .v = z});
}

StreamPoints early_q(LayerBuilder& layer, const StreamPoints& at) {
  const StreamPoint z = layer.feed_forward(at.now);
  return finish_with_attention(layer, at, z, {.q = at.now, .k = z, .v = z});
}

StreamPoints early_k(LayerBuilder& layer, const StreamPoints& at) {
  const StreamPoint z = layer.feed_forward(at.now);
  return finish_with_attention(layer, at, z, {.q = z, .k = at.now, .v = z});
}

StreamPoints early_qk(LayerBuilder& layer, const StreamPoints& at) {
  const StreamPoint z = layer.feed_forward(at.now);
  return finish_with_attention(layer, at, z, {.q = at.now, .k = at.now, .v = z});
}

/// The attention reads nothing of z, to which its output is added.
StreamPoints parallel(LayerBuilder& layer, const StreamPoints& at) {
  const StreamPoint z = layer.feed_forward(at.now);
  return finish_with_attention(layer, at, z, {.q = at.now, .k = at.now, .v = at.now});
}

}  // namespace

StreamPoints add_layer(BlockOrder block, LayerBuilder& layer, const StreamPoints& at) {
  switch (block) {
    case BlockOrder::standard:
      return standard(layer, at);
    case BlockOrder::swapped:
      return swapped(layer, at);
    case BlockOrder::early_q:
      return early_q(layer, at);
    case BlockOrder::early_k:
      return early_k(layer, at);
    case BlockOrder::early_qk:
      return early_qk(layer, at);
    case BlockOrder::parallel:
      return parallel(layer, at);
    case BlockOrder::shifted_q:
      return shifted_q(layer, at);
    case BlockOrder::single_q:
      return single_q(layer, at);
  }
  throw std::logic_error("add_layer: block order without a layer");
}

LayerBuilder::LayerBuilder(Graph& graph, CurrentToken current_token, const Operation& origin,
                           std::vector<Edge> landed)
    : graph_(graph), current_token_(current_token), origin_(origin), landed_(std::move(landed)) {}

OpId LayerBuilder::add(OpKind kind, std::vector<Edge> inputs) {
  return graph_.add(kind, origin_, std::move(inputs));
}

OpId LayerBuilder::project(OpKind kind, StreamPoint x) {
  return add(kind, {{x.writer, ValueKind::residual}});
}

// Projections of one input are one product, unless the query must go ahead alone so that the sweep
// can start.
LayerBuilder::Projections LayerBuilder::project_all(const ReadPoints& read) {
  const bool kv_together = same(read.k, read.v);
  if (current_token_ == CurrentToken::append_first && kv_together && same(read.q, read.k)) {
    const OpId qkv = project(OpKind::qkv, read.q);
    return {qkv, qkv, qkv};
  }
  const OpId q = project(OpKind::q, read.q);
  if (kv_together) {
    const OpId kv = project(OpKind::kv, read.k);
    return {q, kv, kv};
  }
  const OpId k = project(OpKind::k, read.k);
  return {q, k, project(OpKind::v, read.v)};
}

Edge LayerBuilder::attention(const ReadPoints& read) {
  const Projections made = project_all(read);
  const Edge q{made.q, ValueKind::q};
  const Edge k{made.k, ValueKind::k};
  const Edge v{made.v, ValueKind::v};
  append_ = add(OpKind::append, {k, v});

  const bool append_first = current_token_ == CurrentToken::append_first;
  std::vector<Edge> sweep_inputs{q};
  if (append_first) {
    sweep_inputs.push_back({append_, ValueKind::order});
  }
  sweep_inputs.insert(sweep_inputs.end(), landed_.begin(), landed_.end());
  const OpId sweep = add(OpKind::sweep, std::move(sweep_inputs));
  graph_[sweep].positions = origin_.position + (append_first ? 1 : 0);

  const Edge partial{sweep, ValueKind::partial};
  if (append_first) {
    return partial;
  }
  return {add(OpKind::merge, {q, k, v, partial}), ValueKind::attention};
}

StreamPoint LayerBuilder::output(const Edge& attention, StreamPoint x) {
  return {add(OpKind::o, {attention, {x.writer, ValueKind::residual}})};
}

StreamPoint LayerBuilder::feed_forward(StreamPoint x) { return {project(OpKind::ffn, x)}; }

}  // namespace qfs
