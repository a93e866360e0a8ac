#include "analysis/estimate/module_work.hpp"

#include <initializer_list>
#include <stdexcept>

namespace qfs::native {
namespace {

[[noreturn]] void overflow() { throw std::overflow_error("a count of more than 63 bits"); }

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    overflow();
  }
  return sum;
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    overflow();
  }
  return product;
}

std::int64_t product(std::initializer_list<std::size_t> factors) {
  std::int64_t all = 1;
  for (const std::size_t factor : factors) {
    all = times(all, static_cast<std::int64_t>(factor));
  }
  return all;
}

std::int64_t sum(std::initializer_list<std::int64_t> terms) {
  std::int64_t all = 0;
  for (const std::int64_t term : terms) {
    all = plus(all, term);
  }
  return all;
}

/// rows x in times in x out.
Stage linear(const std::string& name, std::int64_t rows, std::size_t in, std::size_t out,
             bool bias) {
  const std::int64_t parameters = plus(product({in, out}), bias ? product({out}) : 0);
  const std::int64_t values = times(rows, plus(product({in}), product({out})));
  return {name, 1, {times(rows, product({in, out})), plus(values, parameters)}};
}

/// Elements of the tensors that an attention makes.
struct AttentionSizes {
  explicit AttentionSizes(const Attention& a)
      : queries(product({a.call.batch, a.target_length, a.embed_dim})),
        keys(product({a.call.batch, a.source_length, a.embed_dim})),
        scores(product({a.call.batch, a.heads, a.target_length, a.source_length})),
        rows(product({a.call.batch, a.heads, a.target_length})) {}
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t scores;
  std::int64_t rows;
};

/// One reading of the mask as it is stored, and a pass over the scores.
Stage mask_stage(const std::string& name, std::int64_t entries, std::int64_t scores) {
  return {name, 1, {0, sum({entries, scores, scores})}};
}

void add_masks(const Attention& a, std::int64_t scores, Stages& stages) {
  if (a.masks.attention != MaskValues::none) {
    const bool per_head = a.masks.shape == MaskShape::per_head;
    const std::int64_t entries = product({a.target_length, a.source_length});
    stages.push_back(
        mask_stage("attention mask",
                   per_head ? times(product({a.call.batch, a.heads}), entries) : entries, scores));
  }
  if (a.masks.padding != PaddingValues::none) {
    stages.push_back(
        mask_stage("key-padding mask", product({a.call.batch, a.source_length}), scores));
  }
}

// Softmax: maxima A + R, shift 2 A + R, exponentials 2 A, sums A + R, quotients 2 A + R.
void add_products(const Attention& a, const AttentionSizes& n, Stages& stages) {
  const std::int64_t macs = product({a.call.batch, a.target_length, a.source_length, a.embed_dim});
  stages.push_back({"query scale", 1, {0, plus(n.queries, n.queries)}});
  stages.push_back({"scores", 1, {macs, sum({n.queries, n.keys, n.scores})}});
  add_masks(a, n.scores, stages);
  stages.push_back({"softmax", 1, {0, plus(times(8, n.scores), times(4, n.rows))}});
  stages.push_back({"weighted values", 1, {macs, sum({n.scores, n.keys, n.queries})}});
}

Stage activation(std::int64_t elements) { return {"activation", 1, {0, plus(elements, elements)}}; }

/// Means, variances, quotients (with the one epsilon); scale and shift in a pass of their own.
Stage norm_stage(const std::string& name, const Norm& norm, std::int64_t rows, std::size_t width) {
  const std::int64_t elements = times(rows, product({width}));
  const std::int64_t parameters =
      times((norm.weight ? 1 : 0) + (norm.bias ? 1 : 0), product({width}));
  const std::int64_t affine = norm.weight || norm.bias ? plus(elements, elements) : 0;
  const std::int64_t squares = norm.weight ? plus(elements, elements) : elements;
  return {name, 1, {squares, sum({times(4, elements), times(5, rows), 1, parameters, affine})}};
}

void add(const std::string& part, Stages stages, Stages& all) {
  for (Stage& stage : stages) {
    stage.name = part + "." + stage.name;
    all.push_back(std::move(stage));
  }
}

void repeat(std::size_t layers, Stages& stages) {
  for (Stage& stage : stages) {
    stage.times = times(stage.times, product({layers}));
  }
}

void add_final_norm(const Norm& norm, const LayerSettings& settings, std::size_t length,
                    Stages& stages) {
  if (norm.kind == NormKind::layer_norm) {
    const std::int64_t rows = product({settings.call.batch, length});
    stages.push_back(norm_stage("final norm", norm, rows, settings.embed_dim));
  }
}

/// What stands around the attentions of a layer: feed-forward, norms and residual additions.
void add_rest_of_layer(const LayerSettings& s, std::size_t length, std::int64_t sub_layers,
                       Stages& stages) {
  const std::int64_t rows = product({s.call.batch, length});
  const std::int64_t elements = times(rows, product({s.embed_dim}));
  add("feed_forward",
      stages_of(FeedForward{s.call, length, s.embed_dim, s.ffn_dim, s.ffn_bias, s.activation}),
      stages);
  Stage norm = norm_stage("norms", s.norm, rows, s.embed_dim);
  norm.times = sub_layers;
  stages.push_back(norm);
  stages.push_back({"residual additions", sub_layers, {0, times(3, elements)}});
}

}  // namespace

ModuleWork& ModuleWork::operator+=(const ModuleWork& other) {
  macs = plus(macs, other.macs);
  accesses = plus(accesses, other.accesses);
  return *this;
}

ModuleWork operator*(std::int64_t count, const ModuleWork& one) {
  return {times(count, one.macs), times(count, one.accesses)};
}

Stages stages_of(const Attention& a) {
  const AttentionSizes n(a);
  const std::int64_t targets = product({a.call.batch, a.target_length});
  const std::int64_t sources = product({a.call.batch, a.source_length});
  Stages stages{linear("query projection", targets, a.embed_dim, a.embed_dim, a.bias),
                linear("key projection", sources, a.kdim, a.embed_dim, a.bias),
                linear("value projection", sources, a.vdim, a.embed_dim, a.bias)};
  add_products(a, n, stages);
  stages.push_back(linear("output projection", targets, a.embed_dim, a.embed_dim, a.bias));
  if (a.need_weights && a.average_weights) {
    stages.push_back(
        {"weight average",
         1,
         {0, plus(n.scores, product({a.call.batch, a.target_length, a.source_length}))}});
  }
  return stages;
}

Stages stages_of(const FeedForward& f) {
  const std::int64_t rows = product({f.call.batch, f.length});
  return {linear("linear 1", rows, f.embed_dim, f.ffn_dim, f.bias),
          activation(times(rows, product({f.ffn_dim}))),
          linear("linear 2", rows, f.ffn_dim, f.embed_dim, f.bias)};
}

Stages stages_of(const NormModule& n) {
  if (n.norm.kind == NormKind::none) {
    return {};
  }
  return {norm_stage("norm", n.norm, product({n.call.batch, n.length}), n.embed_dim)};
}

Stages stages_of(const Encoder& encoder) {
  const LayerSettings& settings = encoder.settings;
  Stages stages;
  add("self_attention", stages_of(self_attention(settings, encoder.length, encoder.masks)), stages);
  add_rest_of_layer(settings, encoder.length, 2, stages);
  repeat(encoder.layers, stages);
  add_final_norm(encoder.final_norm, settings, encoder.length, stages);
  return stages;
}

Stages stages_of(const Decoder& decoder) {
  const LayerSettings& settings = decoder.settings;
  Stages stages;
  add("self_attention",
      stages_of(self_attention(settings, decoder.target_length, decoder.target_masks)), stages);
  add("memory_attention", stages_of(memory_attention(decoder)), stages);
  add_rest_of_layer(settings, decoder.target_length, 3, stages);
  repeat(decoder.layers, stages);
  add_final_norm(decoder.final_norm, settings, decoder.target_length, stages);
  return stages;
}

Stages stages_of(const Transformer& transformer) {
  Stages stages;
  add("encoder", stages_of(transformer.encoder), stages);
  add("decoder", stages_of(transformer.decoder), stages);
  return stages;
}

ModuleWork total(const Stages& stages) {
  ModuleWork all;
  for (const Stage& stage : stages) {
    all += stage.times * stage.each;
  }
  return all;
}

Attention self_attention(const LayerSettings& settings, std::size_t length, const Masks& masks) {
  Attention a;
  a.call = settings.call;
  a.target_length = a.source_length = length;
  a.embed_dim = a.kdim = a.vdim = settings.embed_dim;
  a.heads = settings.heads;
  a.bias = settings.bias;
  a.masks = masks;
  return a;
}

Attention memory_attention(const Decoder& decoder) {
  Attention a = self_attention(decoder.settings, decoder.target_length, decoder.memory_masks);
  a.source_length = decoder.source_length;
  a.sharing = Sharing::key_value;
  return a;
}

}  // namespace qfs::native
