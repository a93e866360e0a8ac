// PyTorch's native Transformer modules and one evaluation call to them, as 002 describes them.
// Plain values; what PyTorch can express and 002 has no formula for can be said too, and is
// diagnosed (module_rules.hpp).
//
// Lengths: T of the target or query, S of the source, memory, key and value; widths: E of the
// embedding, K and V of key and value, F of the feed-forward; B the batch, H the heads. All from 1.
#pragma once

#include <cstddef>

#include "base/enum_names.hpp"

namespace qfs::native {

enum class TensorKind { dense, not_floating, unbatched, sparse, nested };  // dense: real floating
enum class TokenLayout { batch_first, sequence_first };
enum class Activation { relu, gelu, other };
enum class NormKind { layer_norm, none, other };

/// What an attention mask excludes. `finite`: additive, nothing excluded; `causal`: query i sees
/// keys 0 .. i, alike in every batch and head.
enum class MaskValues {
  none,  // no mask
  all_allowed,
  finite,
  causal,
  arbitrary,
  all_excluded,
  nan,
  positive_infinity,
  unknown  // cannot be looked at: a tensor without data
};

/// What a key-padding mask excludes.
enum class PaddingValues {
  none,  // no mask
  all_allowed,
  finite,
  padding,  // some tokens
  all_excluded,
  nan,
  positive_infinity,
  unknown
};

enum class MaskShape {
  matrix,    // (T, S)
  per_head,  // (B H, T, S)
};

/// Which of query, key and value are one tensor.
enum class Sharing { all, key_value, query_key, query_value, none };

/// What every call has.
struct Call {
  std::size_t batch = 1;
  TokenLayout layout = TokenLayout::batch_first;
  TensorKind tensors = TensorKind::dense;
  bool training = false;
  bool native = true;  // no forward of it or of a part is replaced
};

struct Masks {
  MaskValues attention = MaskValues::none;
  MaskShape shape = MaskShape::matrix;
  PaddingValues padding = PaddingValues::none;
  bool is_causal = false;  // a hint, not a mask
};

struct Norm {
  NormKind kind = NormKind::layer_norm;  // over the features alone
  bool weight = true;
  bool bias = true;
};

/// nn.MultiheadAttention.
struct Attention {
  Call call;
  std::size_t target_length = 1;
  std::size_t source_length = 1;
  std::size_t embed_dim = 1;
  std::size_t heads = 1;  // divides embed_dim
  std::size_t kdim = 1;
  std::size_t vdim = 1;
  bool bias = true;  // of all four projections
  Masks masks;
  bool need_weights = false;
  bool average_weights = true;  // of those returned, over the heads
  bool add_bias_kv = false;
  bool add_zero_attn = false;
  /// `all` takes T = S and E = K = V, key_value K = V, query_key T = S and E = K, query_value T = S
  /// and E = V.
  Sharing sharing = Sharing::all;
};

/// Linear, activation, Linear.
struct FeedForward {
  Call call;
  std::size_t length = 1;
  std::size_t embed_dim = 1;
  std::size_t ffn_dim = 1;
  bool bias = true;  // of both
  Activation activation = Activation::relu;
};

/// nn.LayerNorm on its own.
struct NormModule {
  Call call;
  std::size_t length = 1;
  std::size_t embed_dim = 1;
  Norm norm;
};

/// What the layers of a stack have in common.
struct LayerSettings {
  Call call;
  std::size_t embed_dim = 1;
  std::size_t heads = 1;
  std::size_t ffn_dim = 1;
  bool bias = true;      // of the attentions
  bool ffn_bias = true;  // of the feed-forward
  Activation activation = Activation::relu;
  bool norm_first = false;  // moves nothing that is counted
  Norm norm;                // of every norm of a layer
};

/// nn.TransformerEncoder; a layer alone is a stack of one without final norm.
struct Encoder {
  LayerSettings settings;
  std::size_t length = 1;
  Masks masks;
  std::size_t layers = 1;
  Norm final_norm{NormKind::none};
  bool enable_nested_tensor = false;
};

/// nn.TransformerDecoder; likewise.
struct Decoder {
  LayerSettings settings;
  std::size_t target_length = 1;
  std::size_t source_length = 1;
  Masks target_masks;
  Masks memory_masks;
  std::size_t layers = 1;
  Norm final_norm{NormKind::none};
};

/// nn.Transformer: the encoder's output is the decoder's memory, so decoder.source_length ==
/// encoder.length and the settings are the same.
struct Transformer {
  Encoder encoder;
  Decoder decoder;
};

}  // namespace qfs::native

namespace qfs {
template <>
inline constexpr EnumNames<native::TensorKind, 5> enum_names<native::TensorKind>{{
    {native::TensorKind::dense, "dense"},
    {native::TensorKind::not_floating, "not_floating"},
    {native::TensorKind::unbatched, "unbatched"},
    {native::TensorKind::sparse, "sparse"},
    {native::TensorKind::nested, "nested"},
}};
template <>
inline constexpr EnumNames<native::TokenLayout, 2> enum_names<native::TokenLayout>{{
    {native::TokenLayout::batch_first, "batch_first"},
    {native::TokenLayout::sequence_first, "sequence_first"},
}};
template <>
inline constexpr EnumNames<native::Activation, 3> enum_names<native::Activation>{{
    {native::Activation::relu, "relu"},
    {native::Activation::gelu, "gelu"},
    {native::Activation::other, "other"},
}};
template <>
inline constexpr EnumNames<native::NormKind, 3> enum_names<native::NormKind>{{
    {native::NormKind::layer_norm, "layer_norm"},
    {native::NormKind::none, "none"},
    {native::NormKind::other, "other"},
}};
template <>
inline constexpr EnumNames<native::MaskValues, 9> enum_names<native::MaskValues>{{
    {native::MaskValues::none, "none"},
    {native::MaskValues::all_allowed, "all_allowed"},
    {native::MaskValues::finite, "finite"},
    {native::MaskValues::causal, "causal"},
    {native::MaskValues::arbitrary, "arbitrary"},
    {native::MaskValues::all_excluded, "all_excluded"},
    {native::MaskValues::nan, "nan"},
    {native::MaskValues::positive_infinity, "positive_infinity"},
    {native::MaskValues::unknown, "unknown"},
}};
template <>
inline constexpr EnumNames<native::PaddingValues, 8> enum_names<native::PaddingValues>{{
    {native::PaddingValues::none, "none"},
    {native::PaddingValues::all_allowed, "all_allowed"},
    {native::PaddingValues::finite, "finite"},
    {native::PaddingValues::padding, "padding"},
    {native::PaddingValues::all_excluded, "all_excluded"},
    {native::PaddingValues::nan, "nan"},
    {native::PaddingValues::positive_infinity, "positive_infinity"},
    {native::PaddingValues::unknown, "unknown"},
}};
template <>
inline constexpr EnumNames<native::MaskShape, 2> enum_names<native::MaskShape>{{
    {native::MaskShape::matrix, "matrix"},
    {native::MaskShape::per_head, "per_head"},
}};
template <>
inline constexpr EnumNames<native::Sharing, 5> enum_names<native::Sharing>{{
    {native::Sharing::all, "all"},
    {native::Sharing::key_value, "key_value"},
    {native::Sharing::query_key, "query_key"},
    {native::Sharing::query_value, "query_value"},
    {native::Sharing::none, "none"},
}};
}  // namespace qfs
