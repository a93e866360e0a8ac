// How a sweep is cut into independent units: one KV head and one chunk of its positions each.
// Chunks are of a fixed length, so that the cut depends on nothing but the cache.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "kernels/attention.hpp"
#include "kernels/simd/attention_chunk.hpp"

namespace qfs {

inline constexpr std::size_t chunk_rows = 4096;

/// The units of a sweep of `vectors` = queries * heads vectors over `rows`.
class SweepUnits {
 public:
  SweepUnits(const KvRows& rows, std::size_t vectors, std::size_t queries)
      : rows_(rows), queries_(queries), heads_(vectors / std::max<std::size_t>(queries, 1)) {
    assert(rows.head_dim >= 1 && rows.kv_heads >= 1 && queries >= 1 && vectors % queries == 0);
    assert(heads_ >= 1 && heads_ % rows.kv_heads == 0);
    assert(rows.positions == 0 || (rows.k != nullptr && rows.v != nullptr));
    assert(rows.positions == 0 || !has_scales(rows.format) ||
           (rows.k_scales != nullptr && rows.v_scales != nullptr));
    assert(rows.kv_heads == 1 || rows.head_rows >= rows.positions);
  }

  [[nodiscard]] std::size_t chunks() const {
    return (rows_.positions + chunk_rows - 1) / chunk_rows;
  }
  [[nodiscard]] std::size_t count() const { return rows_.kv_heads * chunks(); }
  /// Vectors that read one KV head.
  [[nodiscard]] std::size_t vectors() const { return heads_ / rows_.kv_heads * queries_; }
  [[nodiscard]] std::size_t kv_head(std::size_t unit) const { return unit / chunks(); }
  [[nodiscard]] std::size_t first_row(std::size_t unit) const {
    return unit % chunks() * chunk_rows;
  }

  [[nodiscard]] HeadRows rows(std::size_t unit) const {
    const std::size_t first = kv_head(unit) * rows_.head_rows + first_row(unit);
    const std::size_t at = first * rows_.head_dim * bytes_per_value(rows_.format);
    const bool scaled = has_scales(rows_.format);
    return {rows_.format,
            rows_.k + at,
            rows_.v + at,
            scaled ? rows_.k_scales + first : nullptr,
            scaled ? rows_.v_scales + first : nullptr,
            rows_.head_dim,
            std::min(chunk_rows, rows_.positions - first_row(unit))};
  }

  /// Of `values`, `width` a vector in the order of q, those of the vectors that read the KV head.
  template <class Value>
  [[nodiscard]] HeadVectors<Value> vectors(Value* values, std::size_t width,
                                           std::size_t head) const {
    const std::size_t group = heads_ / rows_.kv_heads;
    return {values + head * group * width, group, queries_, width, heads_ * width};
  }

 private:
  KvRows rows_;
  std::size_t queries_;
  std::size_t heads_;
};

}  // namespace qfs
