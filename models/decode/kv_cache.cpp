#include "decode/kv_cache.hpp"

#include <cassert>
#include <stdexcept>

namespace qfs {

KvCache::KvCache(const ModelShape& shape, Format format, std::size_t capacity)
    : KvCache(format, shape.kv_heads, shape.head_dim, capacity) {}

KvCache::KvCache(Format format, std::size_t kv_heads, std::size_t head_dim, std::size_t capacity)
    : kv_heads_(kv_heads),
      head_dim_(head_dim),
      capacity_(capacity),
      k_(format, kv_heads * capacity, head_dim),
      v_(format, kv_heads * capacity, head_dim) {}

KvCache KvCache::grown() const {
  KvCache grown(k_.view().format, kv_heads_, head_dim_, positions_ + 1);
  for (std::size_t head = 0; head < kv_heads_; ++head) {
    for (std::size_t t = 0; t < positions_; ++t) {
      grown.k_.copy(head * grown.capacity_ + t, k_.view(), head * capacity_ + t);
      grown.v_.copy(head * grown.capacity_ + t, v_.view(), head * capacity_ + t);
    }
  }
  grown.positions_ = positions_;
  return grown;
}

KvCache KvCache::selected(const Part& part, std::span<const std::size_t> positions,
                          std::size_t capacity) const {
  assert(capacity >= positions.size() && kv_heads_ % part.count == 0);
  KvCache chosen(k_.view().format, kv_heads_ / part.count, head_dim_, capacity);
  for (std::size_t head = 0; head < chosen.kv_heads_; ++head) {
    const std::size_t from = (part.index * chosen.kv_heads_ + head) * capacity_;
    for (std::size_t row = 0; row < positions.size(); ++row) {
      chosen.k_.copy(head * capacity + row, k_.view(), from + positions[row]);
      chosen.v_.copy(head * capacity + row, v_.view(), from + positions[row]);
    }
  }
  chosen.positions_ = positions.size();
  return chosen;
}

void KvCache::append(std::span<const float> k, std::span<const float> v) {
  assert(k.size() == kv_heads_ * head_dim_ && v.size() == k.size());
  if (positions_ >= capacity_) {
    throw std::logic_error("KvCache::append: the cache is full");
  }
  for (std::size_t head = 0; head < kv_heads_; ++head) {
    const std::size_t row = head * capacity_ + positions_;
    k_.write(row, k.subspan(head * head_dim_, head_dim_));
    v_.write(row, v.subspan(head * head_dim_, head_dim_));
  }
  ++positions_;
}

void KvCache::read(std::size_t position, std::span<float> k, std::span<float> v) const {
  assert(k.size() == kv_heads_ * head_dim_ && v.size() == k.size());
  for (std::size_t head = 0; head < kv_heads_; ++head) {
    read_head(head, position, k.subspan(head * head_dim_, head_dim_),
              v.subspan(head * head_dim_, head_dim_));
  }
}

void KvCache::read_head(std::size_t kv_head, std::size_t position, std::span<float> k,
                        std::span<float> v) const {
  assert(position < positions_);
  k_.view().read(kv_head * capacity_ + position, k);
  v_.view().read(kv_head * capacity_ + position, v);
}

KvRows KvCache::rows(std::size_t count) const {
  assert(count <= positions_);
  const Matrix k = k_.view();
  const Matrix v = v_.view();
  return {.format = k.format,
          .k = k.values.data(),
          .v = v.values.data(),
          .k_scales = k.scales.data(),
          .v_scales = v.scales.data(),
          .kv_heads = kv_heads_,
          .head_dim = head_dim_,
          .head_rows = capacity_,
          .positions = count};
}

}  // namespace qfs
