#include "decode/model_shape.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace qfs {
namespace {

Bytes matrix_bytes(std::size_t rows, std::size_t columns) {
  return Bytes(static_cast<std::int64_t>(rows * columns * weight_bytes_per_value));
}

}  // namespace

Bytes q_weight_bytes(const ModelShape& shape) {
  return matrix_bytes(shape.q_width(), shape.hidden);
}
Bytes kv_weight_bytes(const ModelShape& shape) {
  return matrix_bytes(shape.kv_width(), shape.hidden);
}
Bytes ffn_weight_bytes(const ModelShape& shape) {
  return 3 * matrix_bytes(shape.ffn, shape.hidden);
}
Bytes lm_head_weight_bytes(const ModelShape& shape) {
  return matrix_bytes(shape.vocab, shape.hidden);
}

Bytes layer_weight_bytes(const ModelShape& shape) {
  return 2 * q_weight_bytes(shape) + 2 * kv_weight_bytes(shape) + ffn_weight_bytes(shape);
}

Bytes model_weight_bytes(const ModelShape& shape) {
  const Bytes stack = static_cast<std::int64_t>(shape.layers) * layer_weight_bytes(shape);
  return stack + (shape.tied_embedding ? 1 : 2) * lm_head_weight_bytes(shape);
}

std::string shape_fault(const ModelShape& shape) {
  const std::array<std::pair<const char*, std::size_t>, 7> counts{{{"hidden", shape.hidden},
                                                                   {"layers", shape.layers},
                                                                   {"heads", shape.heads},
                                                                   {"kv_heads", shape.kv_heads},
                                                                   {"head_dim", shape.head_dim},
                                                                   {"ffn", shape.ffn},
                                                                   {"vocab", shape.vocab}}};
  for (const auto& [name, count] : counts) {
    if (count == 0) {
      return fmt::format("{} is 0; at least 1 is needed", name);
    }
  }
  if (shape.heads % shape.kv_heads != 0) {
    return fmt::format("heads ({}) is not divisible by kv_heads ({})", shape.heads, shape.kv_heads);
  }
  if (shape.head_dim % 2 != 0) {
    return fmt::format("head_dim ({}) is odd; the rotary embedding needs pairs", shape.head_dim);
  }
  if (!(shape.rope_theta > 0) || !(shape.norm_epsilon >= 0)) {
    return "rope_theta must be above 0 and norm_epsilon at least 0";
  }
  return {};
}

}  // namespace qfs
