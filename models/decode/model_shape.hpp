// The shape of a dense decoder with grouped-query attention: what is needed to count its bytes and
// to compute it.
#pragma once

#include <cstddef>
#include <string>

#include "base/units.hpp"
#include "kernels/format.hpp"

namespace qfs {

struct ModelShape {
  std::string name;
  std::size_t hidden = 0;
  std::size_t layers = 0;
  std::size_t heads = 0;     // query heads
  std::size_t kv_heads = 0;  // divides heads
  std::size_t head_dim = 0;  // may differ from hidden / heads; even (rotary pairs)
  std::size_t ffn = 0;
  std::size_t vocab = 0;
  bool tied_embedding = false;  // the LM head is the embedding
  bool qk_norm = false;         // RMSNorm of every query and key head after projection
  double rope_theta = 1e6;
  double norm_epsilon = 1e-6;

  [[nodiscard]] std::size_t q_width() const { return heads * head_dim; }
  [[nodiscard]] std::size_t kv_width() const { return kv_heads * head_dim; }
  /// Query heads that share one KV head; query head g reads KV head g / group().
  [[nodiscard]] std::size_t group() const { return heads / kv_heads; }
};

/// Static weight bytes of one layer's products in a format, one row per output. Norm gains (a few
/// KB) are not charged, as 001 counts.
Bytes q_weight_bytes(const ModelShape& shape, Format format);
Bytes kv_weight_bytes(const ModelShape& shape, Format format);  // Wk alone; Wv has the same size
Bytes o_weight_bytes(const ModelShape& shape, Format format);
Bytes ffn_weight_bytes(const ModelShape& shape, Format format);  // gate, up, down
Bytes layer_weight_bytes(const ModelShape& shape, Format format);
Bytes lm_head_weight_bytes(const ModelShape& shape, Format format);
/// All static weights as they lie in memory: the layers, the embedding and, unless tied, the LM
/// head.
Bytes model_weight_bytes(const ModelShape& shape, Format format);

/// What is wrong with the shape, in one line that names the field; empty if nothing is.
std::string shape_fault(const ModelShape& shape);

}  // namespace qfs
