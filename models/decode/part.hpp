// One of several equal parts of a model's heads, feed-forward and vocabulary.
#pragma once

#include <compare>
#include <cstddef>

#include "decode/model_shape.hpp"

namespace qfs {

struct Part {
  std::size_t index = 0;
  std::size_t count = 1;  // 1: the whole
  auto operator<=>(const Part&) const = default;
};

/// The shape that one part of `count` sees: its share of the heads, the feed-forward and the
/// vocabulary at full hidden width. `count` must divide all that the caller uses.
inline ModelShape part_of(ModelShape shape, const Part& part) {
  shape.heads /= part.count;
  shape.kv_heads /= part.count;
  shape.ffn /= part.count;
  shape.vocab /= part.count;
  return shape;
}

}  // namespace qfs
