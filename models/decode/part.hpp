// One of several equal parts of a model's heads, feed-forward and vocabulary.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "decode/model_shape.hpp"

namespace qfs {

struct Part {
  std::uint32_t index = 0;
  std::uint32_t count = 1;  // 1: the whole
  constexpr Part() = default;
  constexpr Part(std::size_t which, std::size_t of)
      : index(static_cast<std::uint32_t>(which)), count(static_cast<std::uint32_t>(of)) {}
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
