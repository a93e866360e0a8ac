#include "analysis/estimate/module_dependencies.hpp"

#include "analysis/estimate/module_work.hpp"

namespace qfs::native {
namespace {

using Maybe = std::optional<TokenRelation>;

Maybe compose(const Maybe& outer, const Maybe& inner) {
  return outer && inner ? composed(*outer, *inner) : std::nullopt;
}

Maybe unite(const Maybe& a, const Maybe& b) { return a && b ? united(*a, *b) : std::nullopt; }

/// Of the three operands taken apart.
struct AttentionRelations {
  TokenRelation query;
  TokenRelation key;
  TokenRelation value;
};

/// A softmax over one key is 1 whatever the query and the key: of a single source, and in the
/// first row under a causal mask.
AttentionRelations relations_of(const Attention& a) {
  const std::size_t targets = a.target_length;
  const std::size_t sources = a.source_length;
  const bool causal = a.masks.attention == MaskValues::causal;
  if (sources == 1) {
    const TokenRelation value = causal ? prefix_of(targets, 1, 1) : all_of(targets, 1, 1);
    return {no_relation(targets, targets), no_relation(targets, 1), value};
  }
  if (causal) {
    return {same_position(targets, 1), prefix_of(targets, sources, sources, 1),
            prefix_of(targets, sources, sources)};
  }
  return {same_position(targets), all_of(targets, sources, sources),
          all_of(targets, sources, sources)};
}

/// Through the query and through key and value of one tensor.
struct CrossRelations {
  TokenRelation query;
  Maybe memory;
};

CrossRelations cross_relations(const Attention& a) {
  const AttentionRelations r = relations_of(a);
  return {r.query, united(r.key, r.value)};
}

/// Of a tensor that is query, key and value.
Maybe self_relation(const Attention& a) {
  const CrossRelations r = cross_relations(a);
  return unite(r.query, r.memory);
}

/// Of one sub-layer and the residual around it.
Maybe with_residual(const Maybe& relation, std::size_t length) {
  return unite(same_position(length), relation);
}

/// Through all layers; norms and feed-forward are token-local.
Maybe encoder_relation(const Encoder& encoder) {
  const Maybe layer =
      with_residual(self_relation(self_attention(encoder.settings, encoder.length, encoder.masks)),
                    encoder.length);
  Maybe stack = same_position(encoder.length);
  for (std::size_t i = 0; i < encoder.layers; ++i) {
    const Maybe deeper = compose(layer, stack);
    if (deeper == stack) {  // and so for all further layers
      break;
    }
    stack = deeper;
  }
  return stack;
}

struct DecoderRelations {
  Maybe target;
  Maybe memory;
  bool operator==(const DecoderRelations&) const = default;
};

DecoderRelations decoder_relations(const Decoder& decoder) {
  const std::size_t targets = decoder.target_length;
  const Maybe self = with_residual(
      self_relation(self_attention(decoder.settings, targets, decoder.target_masks)), targets);
  const CrossRelations cross = cross_relations(memory_attention(decoder));
  const Maybe through_query = with_residual(cross.query, targets);
  DecoderRelations stack{same_position(targets), no_relation(targets, decoder.source_length)};
  for (std::size_t i = 0; i < decoder.layers; ++i) {
    const Maybe layer = compose(through_query, self);
    const DecoderRelations deeper{compose(layer, stack.target),
                                  unite(compose(layer, stack.memory), cross.memory)};
    if (deeper == stack) {
      break;
    }
    stack = deeper;
  }
  return stack;
}

std::optional<TokenDependencies> if_all(
    const std::vector<std::pair<std::vector<std::string>, Maybe>>& relations) {
  TokenDependencies all;
  for (const auto& [arguments, relation] : relations) {
    if (!relation) {
      return std::nullopt;
    }
    all.push_back({arguments, *relation});
  }
  return all;
}

}  // namespace

std::optional<TokenDependencies> dependencies_of(const Attention& attention) {
  const AttentionRelations r = relations_of(attention);
  switch (attention.sharing) {
    case Sharing::all:
      return if_all({{{"query", "key", "value"}, self_relation(attention)}});
    case Sharing::key_value:
      return if_all({{{"query"}, r.query}, {{"key", "value"}, united(r.key, r.value)}});
    case Sharing::query_key:
      return if_all({{{"query", "key"}, united(r.query, r.key)}, {{"value"}, r.value}});
    case Sharing::query_value:
      return if_all({{{"query", "value"}, united(r.query, r.value)}, {{"key"}, r.key}});
    case Sharing::none:
      break;
  }
  return if_all({{{"query"}, r.query}, {{"key"}, r.key}, {{"value"}, r.value}});
}

std::optional<TokenDependencies> dependencies_of(const FeedForward& feed_forward) {
  return if_all({{{"input"}, same_position(feed_forward.length)}});
}

std::optional<TokenDependencies> dependencies_of(const NormModule& norm) {
  return if_all({{{"input"}, same_position(norm.length)}});
}

std::optional<TokenDependencies> dependencies_of(const Encoder& encoder) {
  return if_all({{{"src"}, encoder_relation(encoder)}});
}

std::optional<TokenDependencies> dependencies_of(const Decoder& decoder) {
  const DecoderRelations relations = decoder_relations(decoder);
  return if_all({{{"tgt"}, relations.target}, {{"memory"}, relations.memory}});
}

std::optional<TokenDependencies> dependencies_of(const Transformer& transformer) {
  const DecoderRelations relations = decoder_relations(transformer.decoder);
  return if_all({{{"src"}, compose(relations.memory, encoder_relation(transformer.encoder))},
                 {{"tgt"}, relations.target}});
}

}  // namespace qfs::native
