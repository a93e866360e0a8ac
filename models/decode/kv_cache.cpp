#include "decode/kv_cache.hpp"

#include <cassert>
#include <stdexcept>

namespace qfs {
namespace {

void store_value(float value, float& slot) { slot = value; }
void store_value(float value, Bf16& slot) { slot = to_bf16(value); }

}  // namespace

KvCache::KvCache(const ModelShape& shape, Format format, std::size_t capacity)
    : kv_heads_(shape.kv_heads), head_dim_(shape.head_dim), capacity_(capacity) {
  const std::size_t values = shape.kv_width() * capacity;
  if (format == Format::fp32) {
    store_ = Store<float>{std::vector<float>(values), std::vector<float>(values)};
  } else {
    store_ = Store<Bf16>{std::vector<Bf16>(values), std::vector<Bf16>(values)};
  }
}

void KvCache::append(std::span<const float> k, std::span<const float> v) {
  assert(k.size() == kv_heads_ * head_dim_ && v.size() == k.size());
  if (positions_ >= capacity_) {
    throw std::logic_error("KvCache::append: the cache is full");
  }
  std::visit(
      [&](auto& store) {
        for (std::size_t head = 0; head < kv_heads_; ++head) {
          const std::size_t row = (head * capacity_ + positions_) * head_dim_;
          for (std::size_t i = 0; i < head_dim_; ++i) {
            store_value(k[head * head_dim_ + i], store.k[row + i]);
            store_value(v[head * head_dim_ + i], store.v[row + i]);
          }
        }
      },
      store_);
  ++positions_;
}

void KvCache::read(std::size_t position, std::span<float> k, std::span<float> v) const {
  assert(position < positions_);
  std::visit(
      [&](const auto& store) {
        for (std::size_t head = 0; head < kv_heads_; ++head) {
          const std::size_t row = (head * capacity_ + position) * head_dim_;
          for (std::size_t i = 0; i < head_dim_; ++i) {
            k[head * head_dim_ + i] = to_float(store.k[row + i]);
            v[head * head_dim_ + i] = to_float(store.v[row + i]);
          }
        }
      },
      store_);
}

}  // namespace qfs
