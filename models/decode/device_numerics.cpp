#include "decode/device_numerics.hpp"

#include <algorithm>
#include <stdexcept>

#include "decode/cache_attention.hpp"
#include "kernels/activation.hpp"
#include "kernels/attention.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "kernels/rotary.hpp"

namespace qfs {
namespace {

/// Row `member` of a row-major batch.
std::span<float> row(std::vector<float>& batch, std::size_t member, std::size_t width) {
  return std::span(batch).subspan(member * width, width);
}

std::vector<float> product(const Matrix& w, std::span<const float> x) {
  std::vector<float> y(x.size() / w.columns * w.rows);
  linear(w, x, y);
  return y;
}

/// Appends row `member` of a batch to each member's output.
void add_rows(Outputs& outputs, std::vector<float>& batch) {
  const std::size_t width = batch.size() / outputs.size();
  for (std::size_t member = 0; member < outputs.size(); ++member) {
    const std::span<float> values = row(batch, member, width);
    outputs[member].insert(outputs[member].end(), values.begin(), values.end());
  }
}

void add_to(std::span<float> sum, std::span<const float> term) {
  std::transform(sum.begin(), sum.end(), term.begin(), sum.begin(), std::plus<>());
}

bool makes_q(OpKind kind) { return kind == OpKind::q || kind == OpKind::qkv; }
bool makes_k(OpKind kind) { return kind == OpKind::k || kind == OpKind::kv || kind == OpKind::qkv; }
bool makes_v(OpKind kind) { return kind == OpKind::v || kind == OpKind::kv || kind == OpKind::qkv; }

}  // namespace

DeviceNumerics::DeviceNumerics(const Graph& graph, const Inputs& inputs, Holdings holdings,
                               AttentionMethod attention)
    : graph_(graph), inputs_(inputs), holdings_(std::move(holdings)), attention_(attention) {
  if (holdings_.shard) {
    take_caches(*holdings_.shard);
  }
  if (holdings_.weights.count > 1) {
    cut_columns();
  }
}

void DeviceNumerics::take_caches(std::size_t shard) {
  for (RequestId request{0}; request.value() < inputs_.config().contexts.size(); ++request) {
    for (LayerId layer{0}; layer.value() < shape().layers; ++layer) {
      caches_.push_back(inputs_.cache_shard(request, layer, holdings_.split, shard));
    }
  }
}

void DeviceNumerics::cut_columns() {
  const ModelShape own = part_of(shape(), holdings_.weights);
  const std::size_t index = holdings_.weights.index;
  for (const LayerWeights& layer : inputs_.weights().layers) {
    columns_.push_back({RowStore::of_columns(layer.o.view(), index * own.q_width(), own.q_width()),
                        RowStore::of_columns(layer.down.view(), index * own.ffn, own.ffn)});
  }
}

DeviceNumerics::Buffer& DeviceNumerics::buffer_of(const Operation& producer) {
  Buffer& buffer = buffers_[{producer.request, producer.layer, producer.kind, producer.shard}];
  buffer.values.resize(output_size(shape(), producer));
  return buffer;
}

std::vector<float>& DeviceNumerics::buffer(const Operation& producer) {
  return buffer_of(producer).values;
}

std::span<float> DeviceNumerics::argument(const Operation& operation, std::size_t index) {
  const Edge& edge = operation.inputs[index];
  const Operation& producer = graph_[edge.from];
  const Slice slice = slice_of(shape(), producer, carried(edge));
  return std::span(buffer(producer)).subspan(slice.offset, slice.count);
}

std::vector<float> DeviceNumerics::store(const Operation& producer, std::span<const float> output) {
  Buffer& buffer = buffer_of(producer);
  buffer.written = ++writes_;
  std::vector<float>& kept = buffer.values;
  std::copy(output.begin(), output.end(), kept.begin());
  if (producer.kind == OpKind::append) {
    const std::span<float> k = std::span(kept).first(kept.size() / 2);
    const std::span<float> v = std::span(kept).last(kept.size() / 2);
    KvCache& rows = cache(producer);
    if (attention_.growth == CacheGrowth::copying) {
      rows = rows.grown();
    }
    rows.append(k, v);
    rows.read(rows.positions() - 1, k, v);
    return kept;
  }
  round_output(shape(), inputs_.config().formats, producer, kept);
  return {output.begin(), output.end()};
}

void DeviceNumerics::send(const Operation& producer, const Carried& carried,
                          std::vector<std::byte>& payload) const {
  const auto held =
      buffers_.find({producer.request, producer.layer, producer.kind, producer.shard});
  if (held == buffers_.end()) {
    throw std::logic_error("DeviceNumerics::send: the device does not hold the value");
  }
  encode_value(shape(), inputs_.config().formats, producer, carried, held->second.values, payload);
}

std::span<const std::byte> DeviceNumerics::receive(const Operation& producer,
                                                   const Carried& carried,
                                                   std::span<const std::byte> payload) {
  Buffer& buffer = buffer_of(producer);
  buffer.written = ++writes_;
  return decode_value(shape(), inputs_.config().formats, producer, carried, payload, buffer.values);
}

const LayerWeights& DeviceNumerics::layer_weights(const Operation& operation) const {
  if (!holdings_.operations.contains(operation.kind)) {
    throw std::logic_error("DeviceNumerics: the device does not hold the operation's weights");
  }
  return inputs_.weights().layer(operation.layer);
}

Matrix DeviceNumerics::own_rows(const Matrix& w) const {
  const std::size_t count = w.rows / holdings_.weights.count;
  return rows_of(w, holdings_.weights.index * count, count);
}

Matrix DeviceNumerics::o_weights(const Operation& operation) const {
  const LayerWeights& layer = layer_weights(operation);
  return columns_.empty() ? layer.o.view() : columns_[operation.layer.value()].o.view();
}

Matrix DeviceNumerics::down_weights(const Operation& operation) const {
  const LayerWeights& layer = layer_weights(operation);
  return columns_.empty() ? layer.down.view() : columns_[operation.layer.value()].down.view();
}

KvCache& DeviceNumerics::cache(const Operation& operation) {
  return caches_.at(operation.request.value() * shape().layers + operation.layer.value());
}

Outputs DeviceNumerics::compute(Members members) {
  switch (members.front()->kind) {
    case OpKind::embed:
      return embed(members);
    case OpKind::q:
    case OpKind::k:
    case OpKind::v:
    case OpKind::kv:
    case OpKind::qkv:
      return project(members);
    case OpKind::append:
      return append(members);
    case OpKind::sweep:
      return sweep(members);
    case OpKind::scores:
      return scores(members);
    case OpKind::values:
      return values(members);
    case OpKind::merge:
      return merge(members);
    case OpKind::o:
      return output(members);
    case OpKind::ffn:
      return feed_forward(members);
    case OpKind::reduce_o:
    case OpKind::reduce_ffn:
      return reduce(members);
    case OpKind::hold:
      return hold(members);
    case OpKind::lm_head:
      return lm_head(members);
  }
  throw std::logic_error("DeviceNumerics::compute: unknown operation");
}

/// Of several parts of the vocabulary: the candidate with the largest logit, the first among
/// equals.
std::size_t DeviceNumerics::chosen_token(const Operation& embed) {
  std::size_t best = 0;
  for (std::size_t index = 1; index < embed.inputs.size(); ++index) {
    best = argument(embed, index)[1] > argument(embed, best)[1] ? index : best;
  }
  return static_cast<std::size_t>(argument(embed, best)[0]);
}

Outputs DeviceNumerics::embed(Members members) {
  Outputs outputs;
  for (const Operation* operation : members) {
    if (!inputs_.config().lm_head) {
      outputs.push_back(inputs_.seeded_input(operation->request, operation->step));
      continue;
    }
    const std::size_t token = operation->inputs.empty() ? inputs_.first_token(operation->request)
                                                        : chosen_token(*operation);
    inputs_.weights().embedding.view().read(token, outputs.emplace_back(shape().hidden));
  }
  return outputs;
}

std::vector<float> DeviceNumerics::normed(Members members, const std::vector<Bf16>& gain) {
  std::vector<float> batch(members.size() * shape().hidden);
  for (std::size_t member = 0; member < members.size(); ++member) {
    rms_norm(argument(*members[member], 0), gain, shape().norm_epsilon,
             row(batch, member, shape().hidden));
  }
  return batch;
}

void DeviceNumerics::finish_heads(const Operation& operation, std::span<float> heads,
                                  const std::vector<Bf16>& gain) const {
  if (shape().qk_norm) {
    head_norm(heads, gain, shape().norm_epsilon);
  }
  rotary(heads, shape().head_dim, operation.position, shape().rope_theta);
}

Outputs DeviceNumerics::project(Members members) {
  const OpKind kind = members.front()->kind;
  const LayerWeights& weights = layer_weights(*members.front());
  const std::vector<float> x = normed(members, weights.attention_norm);
  Outputs outputs(members.size());
  const auto heads = [&](const Matrix& w, const std::vector<Bf16>& gain) {
    std::vector<float> y = product(w, x);
    for (std::size_t member = 0; member < members.size(); ++member) {
      finish_heads(*members[member], row(y, member, w.rows), gain);
    }
    add_rows(outputs, y);
  };
  if (makes_q(kind)) {
    heads(own_rows(weights.q), weights.q_norm);
  }
  if (makes_k(kind)) {
    heads(own_rows(weights.k), weights.k_norm);
  }
  if (makes_v(kind)) {
    std::vector<float> v = product(own_rows(weights.v), x);
    add_rows(outputs, v);
  }
  return outputs;
}

/// The rows to come, as they were when the write began.
Outputs DeviceNumerics::append(Members members) {
  Outputs outputs;
  for (const Operation* operation : members) {
    const std::span<const float> k = argument(*operation, 0);
    const std::span<const float> v = argument(*operation, 1);
    std::vector<float>& rows = outputs.emplace_back(k.begin(), k.end());
    rows.insert(rows.end(), v.begin(), v.end());
  }
  return outputs;
}

Outputs DeviceNumerics::sweep(Members members) {
  const ModelShape own = own_shape(*members.front());
  const std::size_t width = own.q_width();
  Outputs outputs;
  for (const Operation* operation : members) {
    std::vector<float>& state = outputs.emplace_back(width + own.heads);
    const std::span<const float> q = argument(*operation, 0);
    const KvCache& held = cache(*operation);
    // Rows that have not landed cannot be read; a schedule that comes too early gets a short sweep,
    // not a wait.
    attend_cache(attention_.form, q, held, std::min(operation->positions, held.positions()),
                 std::span(state).first(width), std::span(state).subspan(width));
  }
  return outputs;
}

/// Of a part of the heads: without the residual, which is added once.
Outputs DeviceNumerics::output(Members members) {
  const std::size_t width = own_shape(*members.front()).q_width();
  std::vector<float> attention;
  for (const Operation* operation : members) {
    const std::span<float> o = argument(*operation, 0).first(width);  // of a partial, without lse
    attention.insert(attention.end(), o.begin(), o.end());
  }
  std::vector<float> y = product(o_weights(*members.front()), attention);
  Outputs outputs(members.size());
  add_rows(outputs, y);
  for (std::size_t member = 0; member < members.size(); ++member) {
    if (members[member]->part.count == 1) {
      add_to(outputs[member], argument(*members[member], 1));
    }
  }
  return outputs;
}

/// Of a part of the feed-forward: likewise.
Outputs DeviceNumerics::feed_forward(Members members) {
  const LayerWeights& weights = layer_weights(*members.front());
  const std::vector<float> x = normed(members, weights.ffn_norm);
  std::vector<float> gate = product(own_rows(weights.gate), x);
  const std::vector<float> up = product(own_rows(weights.up), x);
  swiglu(gate, up, gate);
  std::vector<float> y = product(down_weights(*members.front()), gate);
  Outputs outputs(members.size());
  add_rows(outputs, y);
  for (std::size_t member = 0; member < members.size(); ++member) {
    if (members[member]->part.count == 1) {
      add_to(outputs[member], argument(*members[member], 0));
    }
  }
  return outputs;
}

/// All shares by rank, then the residual: the same bits on every rank.
Outputs DeviceNumerics::reduce(Members members) {
  Outputs outputs;
  for (const Operation* operation : members) {
    const std::span<const float> first = argument(*operation, 1);
    std::vector<float>& sum = outputs.emplace_back(first.begin(), first.end());
    for (std::size_t index = 2; index < operation->inputs.size(); ++index) {
      add_to(sum, argument(*operation, index));
    }
    add_to(sum, argument(*operation, 0));
  }
  return outputs;
}

Outputs DeviceNumerics::hold(Members members) {
  Outputs outputs;
  for (const Operation* operation : members) {
    const std::span<const float> residual = argument(*operation, 0);
    outputs.emplace_back(residual.begin(), residual.end());
  }
  return outputs;
}

Outputs DeviceNumerics::lm_head(Members members) {
  if (!holdings_.operations.contains(OpKind::lm_head)) {
    throw std::logic_error("DeviceNumerics: the device does not hold the LM head");
  }
  const std::vector<float> x = normed(members, inputs_.weights().final_norm);
  const Matrix rows = own_rows(inputs_.weights().lm_head());
  const std::size_t first_token = holdings_.weights.index * rows.rows;
  std::vector<float> logits = product(rows, x);
  Outputs outputs;
  for (std::size_t member = 0; member < members.size(); ++member) {
    const std::span<float> scores = row(logits, member, rows.rows);
    const auto best = std::max_element(scores.begin(), scores.end());
    const auto token = first_token + static_cast<std::size_t>(best - scores.begin());
    outputs.push_back({static_cast<float>(token), *best});
  }
  return outputs;
}

}  // namespace qfs
