// Synthetic weights, drawn from the seed alone: any element can be drawn in any order. Spread so
// that activations keep about unit variance and attention scores a deviation of about 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "decode/model_shape.hpp"
#include "kernels/format.hpp"
#include "kernels/linear.hpp"

namespace qfs {

/// An owned matrix, row-major, one row per output.
struct WeightMatrix {
  std::vector<Bf16> values;
  std::size_t rows = 0;
  std::size_t columns = 0;
  [[nodiscard]] Matrix view() const { return {values, rows, columns}; }
};

struct LayerWeights {
  WeightMatrix q, k, v, o;
  WeightMatrix gate, up, down;
  std::vector<Bf16> attention_norm, ffn_norm;  // gains, hidden values
  std::vector<Bf16> q_norm, k_norm;            // gains, head_dim values; empty without qk_norm
};

struct Weights {
  std::vector<LayerWeights> layers;
  std::vector<Bf16> final_norm;
  WeightMatrix embedding;       // vocab x hidden
  WeightMatrix untied_lm_head;  // empty when tied

  [[nodiscard]] const LayerWeights& layer(LayerId layer) const { return layers[layer.value()]; }
  [[nodiscard]] Matrix lm_head() const {
    return untied_lm_head.values.empty() ? embedding.view() : untied_lm_head.view();
  }
};

/// `vocabulary` false leaves embedding and LM head empty (runs without LM head).
Weights draw_weights(const ModelShape& shape, std::uint64_t seed, bool vocabulary);

}  // namespace qfs
