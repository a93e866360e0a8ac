// Seeded native modules with a call each, over everything that 002 has formulas for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "analysis/estimate/modules.hpp"
#include "base/random.hpp"

namespace qfs::test {

class NativeDraw {
 public:
  explicit NativeDraw(std::uint64_t number) : random_(32, number) {}

  std::size_t between(std::size_t low, std::size_t high) {
    return low + static_cast<std::size_t>(random_.below(index_++, high - low + 1));
  }
  bool coin() { return between(0, 1) == 1; }

  native::Call call() { return {between(1, 3)}; }

  /// All that counts know; `regular`: all that dependencies know.
  native::Masks masks(bool regular) {
    native::Masks masks;
    masks.attention = enum_names<native::MaskValues>[between(0, regular ? 3 : 4)].first;
    masks.shape = coin() ? native::MaskShape::matrix : native::MaskShape::per_head;
    masks.padding = enum_names<native::PaddingValues>[between(0, 2)].first;
    if (!regular && masks.attention != native::MaskValues::arbitrary && coin()) {
      masks.padding = native::PaddingValues::padding;
    }
    masks.is_causal = masks.attention == native::MaskValues::causal && coin();
    return masks;
  }

  native::Attention attention(bool regular) {
    native::Attention a;
    a.call = call();
    a.target_length = between(1, 5);
    a.source_length = between(1, 5);
    a.heads = between(1, 4);
    a.embed_dim = a.heads * between(2, 4);
    a.kdim = between(1, 9);
    a.vdim = between(1, 9);
    a.bias = coin();
    a.masks = masks(regular);
    a.need_weights = coin();
    a.average_weights = coin();
    a.sharing = enum_names<native::Sharing>[between(0, 4)].first;
    share(a);
    return a;
  }

  native::FeedForward feed_forward() {
    return {call(),        between(1, 6),
            between(1, 9), between(1, 12),
            coin(),        coin() ? native::Activation::relu : native::Activation::gelu};
  }

  native::NormModule norm_module() { return {call(), between(1, 6), between(1, 9), norm()}; }

  native::Encoder encoder(bool regular) {
    native::Encoder encoder;
    encoder.settings = settings();
    encoder.length = between(1, 5);
    encoder.masks = masks(regular);
    encoder.layers = between(1, 3);
    encoder.final_norm = final_norm();
    return encoder;
  }

  native::Decoder decoder(bool regular) {
    native::Decoder decoder;
    decoder.settings = settings();
    decoder.target_length = between(1, 5);
    decoder.source_length = between(1, 5);
    decoder.target_masks = masks(regular);
    decoder.memory_masks = masks(regular);
    decoder.layers = between(1, 3);
    decoder.final_norm = final_norm();
    return decoder;
  }

  native::Transformer transformer(bool regular) {
    native::Transformer transformer{encoder(regular), decoder(regular)};
    transformer.decoder.settings = transformer.encoder.settings;
    transformer.decoder.source_length = transformer.encoder.length;
    return transformer;
  }

 private:
  static void share(native::Attention& a) {
    const native::Sharing s = a.sharing;
    if (s == native::Sharing::all || s == native::Sharing::query_key) {
      a.kdim = a.embed_dim;
    }
    if (s == native::Sharing::all || s == native::Sharing::query_value) {
      a.vdim = a.embed_dim;
    }
    if (s == native::Sharing::key_value) {
      a.vdim = a.kdim;
    } else if (s != native::Sharing::none) {
      a.source_length = a.target_length;
    }
  }

  native::Norm norm() { return {native::NormKind::layer_norm, coin(), coin()}; }
  native::Norm final_norm() {
    native::Norm final = norm();
    final.kind = coin() ? native::NormKind::layer_norm : native::NormKind::none;
    return final;
  }

  native::LayerSettings settings() {
    native::LayerSettings s;
    s.call = call();
    s.heads = between(1, 3);
    s.embed_dim = s.heads * between(s.heads == 1 ? 4 : 2, 4);
    s.ffn_dim = between(1, 9);
    s.bias = coin();
    s.ffn_bias = coin();
    s.activation = coin() ? native::Activation::relu : native::Activation::gelu;
    s.norm_first = coin();
    s.norm = norm();
    return s;
  }

  Random random_;
  std::uint64_t index_ = 0;
};

}  // namespace qfs::test
