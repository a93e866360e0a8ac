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
    : graph_(graph), inputs_(inputs), attention_(attention) {
  if (holdings.weights) {
    weights_ = &inputs.weights();
  }
  if (holdings.cache) {
    for (RequestId request{0}; request.value() < inputs.config().contexts.size(); ++request) {
      for (LayerId layer{0}; layer.value() < shape().layers; ++layer) {
        caches_.push_back(inputs.cache(request, layer));
      }
    }
  }
}

std::vector<float>& DeviceNumerics::buffer(const Operation& producer) {
  std::vector<float>& values = buffers_[{producer.request, producer.layer, producer.kind}];
  values.resize(output_size(shape(), producer.kind));
  return values;
}

std::span<float> DeviceNumerics::argument(const Operation& operation, std::size_t index) {
  const Edge& edge = operation.inputs[index];
  const Operation& producer = graph_[edge.from];
  const Slice slice = slice_of(shape(), producer.kind, edge.value);
  return std::span(buffer(producer)).subspan(slice.offset, slice.count);
}

std::vector<float> DeviceNumerics::store(const Operation& producer, std::span<const float> output) {
  std::vector<float>& kept = buffer(producer);
  std::copy(output.begin(), output.end(), kept.begin());
  if (producer.kind == OpKind::append) {
    const std::size_t width = shape().kv_width();
    const std::span<float> k = std::span(kept).first(width);
    const std::span<float> v = std::span(kept).last(width);
    KvCache& rows = cache(producer);
    if (attention_.growth == CacheGrowth::copying) {
      rows = rows.grown();
    }
    rows.append(k, v);
    rows.read(rows.positions() - 1, k, v);
    return kept;
  }
  round_output(shape(), inputs_.config().formats, producer.kind, kept);
  return {output.begin(), output.end()};
}

void DeviceNumerics::send(const Operation& producer, std::span<const ValueKind> values,
                          std::vector<std::byte>& payload) const {
  const auto held = buffers_.find({producer.request, producer.layer, producer.kind});
  if (held == buffers_.end()) {
    throw std::logic_error("DeviceNumerics::send: the device does not hold the value");
  }
  for (const ValueKind value : values) {
    encode_value(shape(), inputs_.config().formats, producer.kind, value, held->second, payload);
  }
}

std::span<const std::byte> DeviceNumerics::receive(const Operation& producer,
                                                   std::span<const ValueKind> values,
                                                   std::span<const std::byte> payload) {
  for (const ValueKind value : values) {
    payload = decode_value(shape(), inputs_.config().formats, producer.kind, value, payload,
                           buffer(producer));
  }
  return payload;
}

const LayerWeights& DeviceNumerics::layer_weights(const Operation& operation) const {
  if (weights_ == nullptr) {
    throw std::logic_error("DeviceNumerics: the device holds no weights");
  }
  return weights_->layer(operation.layer);
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
    case OpKind::merge:
      return merge(members);
    case OpKind::o:
      return output(members);
    case OpKind::ffn:
      return feed_forward(members);
    case OpKind::lm_head:
      return lm_head(members);
  }
  throw std::logic_error("DeviceNumerics::compute: unknown operation");
}

Outputs DeviceNumerics::embed(Members members) {
  Outputs outputs;
  for (const Operation* operation : members) {
    if (!inputs_.config().lm_head) {
      outputs.push_back(inputs_.seeded_input(operation->request, operation->step));
      continue;
    }
    const bool first = operation->inputs.empty();
    const std::size_t token = first ? inputs_.first_token(operation->request)
                                    : static_cast<std::size_t>(argument(*operation, 0)[0]);
    weights_->embedding.view().read(token, outputs.emplace_back(shape().hidden));
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
    heads(weights.q.view(), weights.q_norm);
  }
  if (makes_k(kind)) {
    heads(weights.k.view(), weights.k_norm);
  }
  if (makes_v(kind)) {
    std::vector<float> v = product(weights.v.view(), x);
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
  const std::size_t width = shape().q_width();
  Outputs outputs;
  for (const Operation* operation : members) {
    std::vector<float>& state = outputs.emplace_back(width + shape().heads);
    const std::span<const float> q = argument(*operation, 0);
    const KvCache& held = cache(*operation);
    // Rows that have not landed cannot be read; a schedule that comes too early gets a short sweep,
    // not a wait.
    attend_cache(attention_.form, q, held, std::min(operation->positions, held.positions()),
                 std::span(state).first(width), std::span(state).subspan(width));
  }
  return outputs;
}

Outputs DeviceNumerics::merge(Members members) {
  const std::size_t width = shape().q_width();
  Outputs outputs;
  for (const Operation* operation : members) {
    const std::span<const float> partial = argument(*operation, 3);
    std::vector<float> lse(partial.begin() + static_cast<std::ptrdiff_t>(width), partial.end());
    std::vector<float>& o =
        outputs.emplace_back(partial.begin(), partial.begin() + static_cast<std::ptrdiff_t>(width));
    fold(argument(*operation, 0), argument(*operation, 1), argument(*operation, 2),
         shape().head_dim, o, lse);
  }
  return outputs;
}

Outputs DeviceNumerics::output(Members members) {
  const std::size_t width = shape().q_width();
  std::vector<float> attention;
  for (const Operation* operation : members) {
    const std::span<float> o = argument(*operation, 0).first(width);  // of a partial, without lse
    attention.insert(attention.end(), o.begin(), o.end());
  }
  std::vector<float> y = product(layer_weights(*members.front()).o.view(), attention);
  Outputs outputs(members.size());
  add_rows(outputs, y);
  for (std::size_t member = 0; member < members.size(); ++member) {
    add_to(outputs[member], argument(*members[member], 1));
  }
  return outputs;
}

Outputs DeviceNumerics::feed_forward(Members members) {
  const LayerWeights& weights = layer_weights(*members.front());
  const std::vector<float> x = normed(members, weights.ffn_norm);
  std::vector<float> gate = product(weights.gate.view(), x);
  const std::vector<float> up = product(weights.up.view(), x);
  swiglu(gate, up, gate);
  std::vector<float> y = product(weights.down.view(), gate);
  Outputs outputs(members.size());
  add_rows(outputs, y);
  for (std::size_t member = 0; member < members.size(); ++member) {
    add_to(outputs[member], argument(*members[member], 0));
  }
  return outputs;
}

Outputs DeviceNumerics::lm_head(Members members) {
  if (weights_ == nullptr) {
    throw std::logic_error("DeviceNumerics: the device holds no weights");
  }
  const std::vector<float> x = normed(members, weights_->final_norm);
  std::vector<float> logits = product(weights_->lm_head(), x);
  Outputs outputs;
  for (std::size_t member = 0; member < members.size(); ++member) {
    const std::span<float> scores = row(logits, member, shape().vocab);
    const auto best = std::max_element(scores.begin(), scores.end());
    outputs.push_back({static_cast<float>(best - scores.begin()), *best});
  }
  return outputs;
}

}  // namespace qfs
