#include "decode/model_shape.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace qfs {
namespace {

Bytes matrix_bytes(Format format, std::size_t rows, std::size_t columns) {
  return Bytes(static_cast<std::int64_t>(rows * row_bytes(format, columns)));
}

}  // namespace

Bytes q_weight_bytes(const ModelShape& shape, Format format) {
  return matrix_bytes(format, shape.q_width(), shape.hidden);
}
Bytes kv_weight_bytes(const ModelShape& shape, Format format) {
  return matrix_bytes(format, shape.kv_width(), shape.hidden);
}
Bytes o_weight_bytes(const ModelShape& shape, Format format) {
  return matrix_bytes(format, shape.hidden, shape.q_width());
}
Bytes ffn_weight_bytes(const ModelShape& shape, Format format) {
  return 2 * matrix_bytes(format, shape.ffn, shape.hidden) +
         matrix_bytes(format, shape.hidden, shape.ffn);
}
Bytes lm_head_weight_bytes(const ModelShape& shape, Format format) {
  return matrix_bytes(format, shape.vocab, shape.hidden);
}

Bytes layer_weight_bytes(const ModelShape& shape, Format format) {
  return q_weight_bytes(shape, format) + 2 * kv_weight_bytes(shape, format) +
         o_weight_bytes(shape, format) + ffn_weight_bytes(shape, format);
}

Bytes model_weight_bytes(const ModelShape& shape, Format format) {
  const Bytes stack = static_cast<std::int64_t>(shape.layers) * layer_weight_bytes(shape, format);
  return stack + (shape.tied_embedding ? 1 : 2) * lm_head_weight_bytes(shape, format);
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
