#include "decode/layer_graph.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

namespace qfs {
namespace {

bool same(const StreamPoint& a, const StreamPoint& b) { return a.writers == b.writers; }

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
StreamPoints finish_with_attention(LayerBuilder& layer, const StreamPoints& at,
                                   const StreamPoint& z, const ReadPoints& read) {
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

LayerBuilder::LayerBuilder(Graph& graph, const LayerSetting& setting, const Operation& origin,
                           LastAppends& landed)
    : graph_(graph), setting_(setting), origin_(origin), landed_(landed) {}

/// Of the heads: where a cache is split by positions, every shard deals with all of them.
Part LayerBuilder::part_of_shard(std::size_t shard) const {
  return setting_.by_heads ? Part{shard, setting_.shards} : Part{};
}

OpId LayerBuilder::add(OpKind kind, std::size_t shard, Part part, Edges inputs) {
  Operation operation = origin_;
  operation.shard = shard;
  operation.part = part;
  return graph_.add(kind, std::move(operation), std::move(inputs));
}

OpId LayerBuilder::project(OpKind kind, std::size_t rank, const StreamPoint& x) {
  return add(kind, rank, part_of_rank(rank), {{x.writers[rank], ValueKind::residual}});
}

// Projections of one input are one product, unless the query must go ahead alone so that the sweep
// can start.
LayerBuilder::Projections LayerBuilder::project_all(std::size_t rank, const ReadPoints& read) {
  const bool kv_together = same(read.k, read.v);
  if (setting_.fused_qkv && kv_together && same(read.q, read.k)) {
    const OpId qkv = project(OpKind::qkv, rank, read.q);
    return {qkv, qkv, qkv};
  }
  const OpId q = project(OpKind::q, rank, read.q);
  if (kv_together) {
    const OpId kv = project(OpKind::kv, rank, read.k);
    return {q, kv, kv};
  }
  const OpId k = project(OpKind::k, rank, read.k);
  return {q, k, project(OpKind::v, rank, read.v)};
}

/// The current row into this shard, if it takes it.
std::optional<OpId> LayerBuilder::append(std::size_t shard, const Projections& made) {
  const std::size_t step = origin_.step.value();
  if (!setting_.plan.takes_append(shard, step)) {
    return std::nullopt;
  }
  const Part part = part_of_shard(shard);
  Edges inputs{{made.k, ValueKind::k, part}, {made.v, ValueKind::v, part}};
  if (landed_[shard]) {  // rows land in the order of their positions
    inputs.push_back({*landed_[shard], ValueKind::order});
  }
  const OpId append = add(OpKind::append, shard, part, std::move(inputs));
  graph_[append].positions = setting_.plan.rows(shard, step);
  return append;
}

/// Over the rows of the shard: those that its last append before this step left or, if the current
/// token goes first, this step's.
OpId LayerBuilder::sweep(std::size_t shard, const Projections& made) {
  const std::size_t step = origin_.step.value();
  const Part part = part_of_shard(shard);
  const bool append_first = setting_.current_token == CurrentToken::append_first;
  const std::optional<OpId> before = landed_[shard];
  const std::optional<OpId> own = append(shard, made);
  if (own) {
    landed_[shard] = own;
  }
  Edges inputs{{made.q, ValueKind::q, part}};
  if (const std::optional<OpId> wait = append_first ? landed_[shard] : before) {
    inputs.push_back({*wait, ValueKind::order});
  }
  const OpKind kind = setting_.two_phases ? OpKind::scores : OpKind::sweep;
  const OpId sweep = add(kind, shard, part, std::move(inputs));
  graph_[sweep].positions = setting_.plan.rows(shard, append_first ? step + 1 : step);
  return sweep;
}

/// The second phase, for which the extrema of all that shares the shard's rows must be there:
/// `scores` are those of the rank's shards.
OpId LayerBuilder::values(std::size_t shard, const Projections& made,
                          const std::vector<OpId>& scores) {
  const Part part = part_of_shard(shard);
  const OpId own = scores[shard - graph_[scores.front()].shard];
  Edges inputs{{own, ValueKind::scores, part}};
  for (const OpId sharing : setting_.by_heads ? std::vector{own} : scores) {
    inputs.push_back({sharing, ValueKind::extrema, part});
  }
  if (setting_.weigh_current_token) {
    inputs.push_back({made.q, ValueKind::q, part});
    inputs.push_back({made.k, ValueKind::k, part});
  }
  const OpId values = add(OpKind::values, shard, part, std::move(inputs));
  graph_[values].positions = graph_[own].positions;
  return values;
}

/// Of a rank, by shard: what returns the partial results.
std::vector<OpId> LayerBuilder::sweep_all(std::size_t rank, const Projections& made) {
  const std::size_t shards = setting_.shards / setting_.ranks;  // of a rank
  const std::size_t first = rank * shards;
  std::vector<OpId> sweeps;
  for (std::size_t shard = first; shard < first + shards; ++shard) {
    sweeps.push_back(sweep(shard, made));
  }
  if (!setting_.two_phases) {
    return sweeps;
  }
  std::vector<OpId> seconds;
  for (std::size_t shard = first; shard < first + shards; ++shard) {
    seconds.push_back(values(shard, made, sweeps));
  }
  return seconds;
}

/// The shards of a rank and, unless it has been swept with the rest, the current token. What it
/// weighs on the grid of its row is known where the row is: of shards of the same heads, to each.
Edge LayerBuilder::merge(std::size_t rank, const Projections& made,
                         const std::vector<OpId>& sweeps) {
  const Part part = part_of_rank(rank);
  Edges inputs;
  if (setting_.weigh_current_token) {
    inputs.push_back({made.v, ValueKind::v, part});
    for (std::size_t i = 0; i < (setting_.by_heads ? sweeps.size() : 1); ++i) {
      inputs.push_back({sweeps[i], ValueKind::weight, graph_[sweeps[i]].part});
    }
  } else if (setting_.current_token == CurrentToken::merge) {
    inputs = {
        {made.q, ValueKind::q, part}, {made.k, ValueKind::k, part}, {made.v, ValueKind::v, part}};
  }
  for (const OpId sweep : sweeps) {
    inputs.push_back({sweep, ValueKind::partial, graph_[sweep].part});
  }
  if (inputs.size() == 1) {
    return inputs.front();
  }
  return {add(OpKind::merge, rank, part, std::move(inputs)), ValueKind::attention, part};
}

Edges LayerBuilder::attention(const ReadPoints& read) {
  Edges outputs;
  for (std::size_t rank = 0; rank < setting_.ranks; ++rank) {
    const Projections made = project_all(rank, read);
    outputs.push_back(merge(rank, made, sweep_all(rank, made)));
  }
  return outputs;
}

StreamPoint LayerBuilder::output(const Edges& attention, const StreamPoint& x) {
  if (setting_.ranks == 1) {
    const StreamPoint base = setting_.hold_residual ? held(x) : x;
    return {{add(OpKind::o, 0, {}, {attention[0], {base.writers[0], ValueKind::residual}})}};
  }
  std::vector<OpId> sums;
  for (std::size_t rank = 0; rank < setting_.ranks; ++rank) {
    sums.push_back(add(OpKind::o, rank, part_of_rank(rank), {attention[rank]}));
  }
  return reduce(OpKind::reduce_o, sums, x);
}

StreamPoint LayerBuilder::feed_forward(const StreamPoint& x) {
  std::vector<OpId> made;
  for (std::size_t rank = 0; rank < setting_.ranks; ++rank) {
    made.push_back(project(OpKind::ffn, rank, x));
  }
  return setting_.ranks == 1 ? StreamPoint{made} : reduce(OpKind::reduce_ffn, made, x);
}

/// Every rank adds up all shares for itself: a one-shot all-reduce.
StreamPoint LayerBuilder::reduce(OpKind kind, const std::vector<OpId>& sums, const StreamPoint& x) {
  StreamPoint reduced;
  for (std::size_t rank = 0; rank < setting_.ranks; ++rank) {
    Edges inputs{{x.writers[rank], ValueKind::residual}};
    for (const OpId sum : sums) {
      inputs.push_back({sum, ValueKind::sum});
    }
    reduced.writers.push_back(add(kind, rank, part_of_rank(rank), std::move(inputs)));
  }
  return reduced;
}

/// As a value of the owner's own, sent to the call that needs it.
StreamPoint LayerBuilder::held(const StreamPoint& x) {
  return {{add(OpKind::hold, 0, {}, {{x.writers[0], ValueKind::residual}})}};
}

}  // namespace qfs
