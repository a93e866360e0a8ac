// Drawn KV caches, and a sweep whose result comes back by value, for the tests of the attention
// kernels.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/attention.hpp"
#include "tests/kernels/draw.hpp"

namespace qfs::test {

struct Shape {
  std::size_t heads = 1;
  std::size_t kv_heads = 1;
  std::size_t head_dim = 64;
  std::size_t positions = 0;
};

/// A cache without gaps between its KV heads.
template <class Stored>
struct Cache {
  std::vector<Stored> k;
  std::vector<Stored> v;
  KvRows<Stored> rows;
};

template <class Stored>
Cache<Stored> make_cache(const Shape& shape, std::vector<Stored> k, std::vector<Stored> v) {
  Cache<Stored> cache{std::move(k), std::move(v), {}};
  cache.rows = {cache.k.data(),
                cache.v.data(),
                shape.kv_heads,
                shape.head_dim,
                shape.head_dim * shape.positions,
                shape.positions};
  return cache;
}

inline Cache<float> draw_cache(const Shape& shape, std::uint64_t seed) {
  const std::size_t size = shape.kv_heads * shape.positions * shape.head_dim;
  return make_cache(shape, draw_floats(size, seed, 101), draw_floats(size, seed, 102));
}

inline std::vector<float> draw_query(const Shape& shape, std::uint64_t seed, double deviation = 1) {
  return draw_floats(shape.heads * shape.head_dim, seed, 100, deviation);
}

/// Softmax states of all heads.
template <class Value>
struct States {
  std::vector<Value> o;
  std::vector<Value> lse;
  States(std::size_t heads, std::size_t head_dim) : o(heads * head_dim, NAN), lse(heads, NAN) {}
  bool operator==(const States&) const = default;
};

template <class Stored>
States<float> swept(std::span<const float> q, const KvRows<Stored>& rows) {
  States<float> states(q.size() / rows.head_dim, rows.head_dim);
  sweep(q, rows, states.o, states.lse);
  return states;
}

template <class Stored>
States<double> swept_reference(std::span<const double> q, const KvRows<Stored>& rows) {
  States<double> states(q.size() / rows.head_dim, rows.head_dim);
  sweep_reference(q, rows, states.o, states.lse);
  return states;
}

}  // namespace qfs::test
