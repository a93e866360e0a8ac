// The KV cache of one request in one layer. Layout: position-major rows per KV head, row t at
// offset t * head_dim; room for `capacity` rows is taken once, so an append moves no existing byte.
#pragma once

#include <cstddef>
#include <span>

#include "decode/model_shape.hpp"
#include "decode/part.hpp"
#include "kernels/attention.hpp"
#include "kernels/format.hpp"
#include "kernels/row_store.hpp"

namespace qfs {

class KvCache {
 public:
  KvCache(const ModelShape& shape, Format format, std::size_t capacity);

  /// The watermark: rows that have landed. Rows [0, positions()) never change again.
  [[nodiscard]] std::size_t positions() const { return positions_; }

  /// Adds one row per KV head, rounded to the cache's format. k and v hold kv_heads * head_dim
  /// values. Needs positions() < capacity().
  void append(std::span<const float> k, std::span<const float> v);
  /// The same rows in a new cache with room for one more: how a cache grows that reserves nothing.
  [[nodiscard]] KvCache grown() const;
  /// A part of the KV heads of chosen positions, bit for bit, in a new cache with room for
  /// `capacity` rows.
  [[nodiscard]] KvCache selected(const Part& part, std::span<const std::size_t> positions,
                                 std::size_t capacity) const;
  /// One row of every KV head, k and v of kv_heads * head_dim values; position < positions().
  void read(std::size_t position, std::span<float> k, std::span<float> v) const;
  /// The same of one KV head, k and v of head_dim values.
  void read_head(std::size_t kv_head, std::size_t position, std::span<float> k,
                 std::span<float> v) const;

  /// The first `count` rows of every KV head; count <= positions(). Valid while the cache lives.
  [[nodiscard]] KvRows rows(std::size_t count) const;

 private:
  KvCache(Format format, std::size_t kv_heads, std::size_t head_dim, std::size_t capacity);

  std::size_t kv_heads_;
  std::size_t head_dim_;
  std::size_t capacity_;
  std::size_t positions_ = 0;
  RowStore k_;  // row kv_head * capacity + position
  RowStore v_;
};

}  // namespace qfs
