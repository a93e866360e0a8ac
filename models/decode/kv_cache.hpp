// The KV cache of one request in one layer. Layout: position-major rows per KV head, row t at
// offset t * head_dim; room for `capacity` rows is taken once, so an append moves no existing byte.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "decode/model_shape.hpp"
#include "kernels/attention.hpp"
#include "kernels/format.hpp"

namespace qfs {

class KvCache {
 public:
  KvCache(const ModelShape& shape, Format format, std::size_t capacity);

  /// The watermark: rows that have landed. Rows [0, positions()) never change again.
  [[nodiscard]] std::size_t positions() const { return positions_; }

  /// Adds one row per KV head, rounded to the cache's format. k and v hold kv_heads * head_dim
  /// values. Needs positions() < capacity().
  void append(std::span<const float> k, std::span<const float> v);
  /// One row of every KV head, k and v of kv_heads * head_dim values; position < positions().
  void read(std::size_t position, std::span<float> k, std::span<float> v) const;

  /// Calls visit(KvRows<Stored>) with the first `count` rows; count <= positions().
  template <class Visit>
  void with_rows(std::size_t count, Visit&& visit) const {
    std::visit(
        [&](const auto& store) {
          using Stored = typename std::decay_t<decltype(store.k)>::value_type;
          std::forward<Visit>(visit)(KvRows<Stored>{store.k.data(), store.v.data(), kv_heads_,
                                                    head_dim_, capacity_ * head_dim_, count});
        },
        store_);
  }

 private:
  template <class Stored>
  struct Store {
    std::vector<Stored> k;
    std::vector<Stored> v;
  };

  std::size_t kv_heads_;
  std::size_t head_dim_;
  std::size_t capacity_;
  std::size_t positions_ = 0;
  std::variant<Store<float>, Store<Bf16>> store_;
};

}  // namespace qfs
