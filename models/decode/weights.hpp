// Synthetic weights, drawn from the seed alone: any element can be drawn in any order. Spread so
// that activations keep about unit variance and attention scores a deviation of about 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "decode/model_shape.hpp"
#include "kernels/format.hpp"
#include "kernels/row_store.hpp"

namespace qfs {

/// Matrices have one row per output.
struct LayerWeights {
  RowStore q, k, v, o;
  RowStore gate, up, down;
  std::vector<Bf16> attention_norm, ffn_norm;  // gains, hidden values
  std::vector<Bf16> q_norm, k_norm;            // gains, head_dim values; empty without qk_norm
};

struct Weights {
  std::vector<LayerWeights> layers;
  std::vector<Bf16> final_norm;
  RowStore embedding;       // vocab x hidden
  RowStore untied_lm_head;  // empty when tied

  [[nodiscard]] const LayerWeights& layer(LayerId layer) const { return layers[layer.value()]; }
  [[nodiscard]] Matrix lm_head() const {
    return untied_lm_head.empty() ? embedding.view() : untied_lm_head.view();
  }
};

/// Matrices are drawn, then rounded to `format`. `vocabulary` false leaves embedding and LM head
/// empty (runs without LM head).
Weights draw_weights(const ModelShape& shape, Format format, std::uint64_t seed, bool vocabulary);

}  // namespace qfs
