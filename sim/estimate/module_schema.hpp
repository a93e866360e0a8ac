// Every key of a native module and its call, once: the style of sim/config/schema.hpp. The names
// are PyTorch's where it has one.
#pragma once

#include <variant>

#include "analysis/estimate/modules.hpp"
#include "sim/config/forms.hpp"
#include "sim/config/schema.hpp"

namespace qfs::estimate {

// One struct for each kind, since a layer alone has fewer keys than a stack.
struct AttentionKeys {
  native::Attention module;
};
struct FeedForwardKeys {
  native::FeedForward module;
};
struct NormKeys {
  native::NormModule module;
};
struct EncoderLayerKeys {
  native::Encoder module;
};
struct DecoderLayerKeys {
  native::Decoder module;
};
struct EncoderKeys {
  native::Encoder module;
};
struct DecoderKeys {
  native::Decoder module;
};
struct TransformerKeys {
  native::Transformer module;
};

using ModuleKeys = std::variant<AttentionKeys, FeedForwardKeys, NormKeys, EncoderLayerKeys,
                                DecoderLayerKeys, EncoderKeys, DecoderKeys, TransformerKeys>;

inline constexpr config::Count width{1, config::most_width};
inline constexpr config::Count width_or_0{0, config::most_width};
inline constexpr config::Count length{1, config::most_context};
inline constexpr config::Count length_or_0{0, config::most_context};
inline constexpr config::Count layers{1, config::most_layers};

template <class Visitor>
void describe_call(Visitor& visit, native::Call& call) {
  visit.field({"batch", "sequences of the call"}, call.batch, config::Count{1, config::most_batch});
  visit.field({"layout", "order of the axes; moves only the token axis that is reported"},
              call.layout, config::Choice{});
  visit.field({"tensors", "what the inputs are; only dense ones have formulas"}, call.tensors,
              config::Choice{});
  visit.field({"training", "whether dropout is at work; only evaluation has formulas"},
              call.training, config::Flag{});
  visit.field({"native", "false: a forward is replaced, and the formulas do not apply"},
              call.native, config::Flag{});
}

/// What the keys of one attention's masks are called.
struct MaskKeyNames {
  const char* mask;
  const char* shape;
  const char* padding;
  const char* is_causal;
};
inline constexpr MaskKeyNames attention_mask_keys{"attn_mask", "attn_mask_shape",
                                                  "key_padding_mask", "is_causal"};
inline constexpr MaskKeyNames source_mask_keys{"src_mask", "src_mask_shape", "src_key_padding_mask",
                                               "src_is_causal"};
inline constexpr MaskKeyNames target_mask_keys{"tgt_mask", "tgt_mask_shape", "tgt_key_padding_mask",
                                               "tgt_is_causal"};
inline constexpr MaskKeyNames memory_mask_keys{"memory_mask", "memory_mask_shape",
                                               "memory_key_padding_mask", "memory_is_causal"};

template <class Visitor>
void describe_masks(Visitor& visit, native::Masks& masks, const MaskKeyNames& names) {
  visit.field({names.mask, "what the mask excludes; a boolean and a floating one count alike"},
              masks.attention, config::Choice{});
  visit.field({names.shape, "matrix: (target, source); per_head: (batch heads, target, source)"},
              masks.shape, config::Choice{});
  visit.field({names.padding, "what the key-padding mask excludes"}, masks.padding,
              config::Choice{});
  visit.field({names.is_causal, "the causal hint; it needs the mask beside it"}, masks.is_causal,
              config::Flag{});
}

struct NormKeyNames {
  const char* kind;
  const char* weight;
  const char* bias;
};

template <class Visitor>
void describe_norm(Visitor& visit, native::Norm& norm, const NormKeyNames& names) {
  visit.field({names.kind, "layer_norm: over the features alone; none: Identity, or no norm"},
              norm.kind, config::Choice{});
  visit.field({names.weight, "whether the norm has a weight"}, norm.weight, config::Flag{});
  visit.field({names.bias, "whether the norm has a bias"}, norm.bias, config::Flag{});
}

inline constexpr NormKeyNames final_norm_keys{"final_norm", "final_norm_weight", "final_norm_bias"};

template <class Visitor>
void describe_settings(Visitor& visit, native::LayerSettings& settings) {
  constexpr config::Presence required = config::Presence::required;
  describe_call(visit, settings.call);
  visit.field({"embed_dim", "width of a token", required}, settings.embed_dim, width);
  visit.field({"heads", "of each attention; divide embed_dim", required}, settings.heads, width);
  visit.field({"ffn_dim", "width of the feed-forward", required}, settings.ffn_dim, width);
  visit.field({"bias", "of the four projections of an attention"}, settings.bias, config::Flag{});
  visit.field({"ffn_bias", "of the two products of the feed-forward"}, settings.ffn_bias,
              config::Flag{});
  visit.field({"activation", "of the feed-forward"}, settings.activation, config::Choice{});
  visit.field({"norm_first", "pre-norm; moves no count"}, settings.norm_first, config::Flag{});
  describe_norm(visit, settings.norm, {"norm", "norm_weight", "norm_bias"});
}

template <class Visitor>
void describe_encoder_call(Visitor& visit, native::Encoder& encoder) {
  describe_settings(visit, encoder.settings);
  visit.field({"source_length", "tokens of src", config::Presence::required}, encoder.length,
              length);
  describe_masks(visit, encoder.masks, source_mask_keys);
}

template <class Visitor>
void describe_decoder_call(Visitor& visit, native::Decoder& decoder) {
  constexpr config::Presence required = config::Presence::required;
  describe_settings(visit, decoder.settings);
  visit.field({"target_length", "tokens of tgt", required}, decoder.target_length, length);
  visit.field({"source_length", "tokens of memory", required}, decoder.source_length, length);
  describe_masks(visit, decoder.target_masks, target_mask_keys);
  describe_masks(visit, decoder.memory_masks, memory_mask_keys);
}

template <class Visitor>
void describe_nesting(Visitor& visit, native::Encoder& encoder) {
  visit.field({"enable_nested_tensor", "as the encoder was built; with padding it may pack tokens"},
              encoder.enable_nested_tensor, config::Flag{});
}

template <class Visitor>
void describe(Visitor& visit, AttentionKeys& keys) {
  constexpr config::Presence required = config::Presence::required;
  native::Attention& a = keys.module;
  describe_call(visit, a.call);
  visit.field({"target_length", "tokens of query", required}, a.target_length, length);
  visit.field({"source_length", "tokens of key and value; 0: as target_length"}, a.source_length,
              length_or_0);
  visit.field({"embed_dim", "width of query and output", required}, a.embed_dim, width);
  visit.field({"heads", "divide embed_dim", required}, a.heads, width);
  visit.field({"kdim", "width of key; 0: as embed_dim"}, a.kdim, width_or_0);
  visit.field({"vdim", "width of value; 0: as embed_dim"}, a.vdim, width_or_0);
  visit.field({"sharing", "which of query, key and value are one tensor; all: self-attention"},
              a.sharing, config::Choice{});
  visit.field({"bias", "of the four projections"}, a.bias, config::Flag{});
  describe_masks(visit, a.masks, attention_mask_keys);
  visit.field({"need_weights", "whether attention weights are returned"}, a.need_weights,
              config::Flag{});
  visit.field({"average_attn_weights", "whether those are averaged over the heads"},
              a.average_weights, config::Flag{});
  visit.field({"add_bias_kv", "true has no formula"}, a.add_bias_kv, config::Flag{});
  visit.field({"add_zero_attn", "true has no formula"}, a.add_zero_attn, config::Flag{});
}

template <class Visitor>
void describe(Visitor& visit, FeedForwardKeys& keys) {
  constexpr config::Presence required = config::Presence::required;
  native::FeedForward& f = keys.module;
  describe_call(visit, f.call);
  visit.field({"length", "tokens", required}, f.length, length);
  visit.field({"embed_dim", "width of a token", required}, f.embed_dim, width);
  visit.field({"ffn_dim", "width between the two products", required}, f.ffn_dim, width);
  visit.field({"bias", "of both products"}, f.bias, config::Flag{});
  visit.field({"activation", "between them"}, f.activation, config::Choice{});
}

template <class Visitor>
void describe(Visitor& visit, NormKeys& keys) {
  constexpr config::Presence required = config::Presence::required;
  native::NormModule& n = keys.module;
  describe_call(visit, n.call);
  visit.field({"length", "tokens", required}, n.length, length);
  visit.field({"embed_dim", "width of a token", required}, n.embed_dim, width);
  describe_norm(visit, n.norm, {"norm", "weight", "bias"});
}

template <class Visitor>
void describe(Visitor& visit, EncoderLayerKeys& keys) {
  describe_encoder_call(visit, keys.module);
}

template <class Visitor>
void describe(Visitor& visit, DecoderLayerKeys& keys) {
  describe_decoder_call(visit, keys.module);
}

template <class Visitor>
void describe(Visitor& visit, EncoderKeys& keys) {
  describe_encoder_call(visit, keys.module);
  visit.field({"layers", "of the stack", config::Presence::required}, keys.module.layers, layers);
  describe_norm(visit, keys.module.final_norm, final_norm_keys);
  describe_nesting(visit, keys.module);
}

template <class Visitor>
void describe(Visitor& visit, DecoderKeys& keys) {
  describe_decoder_call(visit, keys.module);
  visit.field({"layers", "of the stack", config::Presence::required}, keys.module.layers, layers);
  describe_norm(visit, keys.module.final_norm, final_norm_keys);
}

template <class Visitor>
void describe(Visitor& visit, TransformerKeys& keys) {
  constexpr config::Presence required = config::Presence::required;
  native::Encoder& encoder = keys.module.encoder;
  native::Decoder& decoder = keys.module.decoder;
  describe_encoder_call(visit, encoder);
  visit.field({"target_length", "tokens of tgt", required}, decoder.target_length, length);
  describe_masks(visit, decoder.target_masks, target_mask_keys);
  describe_masks(visit, decoder.memory_masks, memory_mask_keys);
  visit.field({"encoder_layers", "of the encoder's stack", required}, encoder.layers, layers);
  visit.field({"decoder_layers", "of the decoder's stack", required}, decoder.layers, layers);
  describe_norm(visit, encoder.final_norm,
                {"encoder_final_norm", "encoder_final_norm_weight", "encoder_final_norm_bias"});
  describe_norm(visit, decoder.final_norm,
                {"decoder_final_norm", "decoder_final_norm_weight", "decoder_final_norm_bias"});
  describe_nesting(visit, encoder);
}

}  // namespace qfs::estimate
