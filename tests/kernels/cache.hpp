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
#include "kernels/row_store.hpp"
#include "tests/kernels/draw.hpp"

namespace qfs::test {

struct Shape {
  std::size_t heads = 1;
  std::size_t kv_heads = 1;
  std::size_t head_dim = 64;
  std::size_t positions = 0;
};

/// A cache in a format. k and v are the values as kept, without gaps between the KV heads.
struct Cache {
  Shape shape;
  std::size_t head_rows = 0;
  std::vector<float> k;
  std::vector<float> v;
  RowStore k_rows;
  RowStore v_rows;

  [[nodiscard]] KvRows rows() const {
    const Matrix keys = k_rows.view();
    const Matrix values = v_rows.view();
    return {keys.format,          keys.values.data(), values.values.data(), keys.scales.data(),
            values.scales.data(), shape.kv_heads,     shape.head_dim,       head_rows,
            shape.positions};
  }
};

/// Keeps `values`, `positions` rows a KV head, and replaces them by what was kept. Between two
/// heads lie `spare` rows of NaN; after the last nothing follows, so that a sanitizer sees a read
/// past it.
inline RowStore keep(const Shape& shape, Format format, std::size_t spare,
                     std::vector<float>& values) {
  const std::size_t d = shape.head_dim;
  const std::vector<float> poison(d, NAN);
  const std::size_t head_rows = shape.positions + spare;
  RowStore store(format, shape.kv_heads * head_rows - spare, d);
  for (std::size_t row = 0; row < shape.kv_heads * head_rows - spare; ++row) {
    const std::size_t t = row % head_rows;
    if (t >= shape.positions) {
      store.write(row, poison);
      continue;
    }
    const std::size_t at = (row / head_rows * shape.positions + t) * d;
    store.write(row, std::span(values).subspan(at, d));
    store.view().read(row, std::span(values).subspan(at, d));
  }
  return store;
}

inline Cache make_cache(const Shape& shape, std::vector<float> k, std::vector<float> v,
                        Format format = Format::fp32, std::size_t spare = 0) {
  Cache cache{shape, shape.positions + spare, std::move(k), std::move(v), {}, {}};
  cache.k_rows = keep(shape, format, spare, cache.k);
  cache.v_rows = keep(shape, format, spare, cache.v);
  return cache;
}

inline Cache draw_cache(const Shape& shape, std::uint64_t seed, Format format = Format::fp32,
                        std::size_t spare = 0) {
  const std::size_t size = shape.kv_heads * shape.positions * shape.head_dim;
  return make_cache(shape, draw_floats(size, seed, 101), draw_floats(size, seed, 102), format,
                    spare);
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

inline States<float> swept(std::span<const float> q, const KvRows& rows,
                           const SweepOptions& options = {}) {
  States<float> states(q.size() / rows.head_dim, rows.head_dim);
  sweep(q, rows, states.o, states.lse, options);
  return states;
}

inline States<double> swept_reference(std::span<const double> q, const KvRows& rows,
                                      std::size_t queries = 1) {
  States<double> states(q.size() / rows.head_dim, rows.head_dim);
  sweep_reference(q, rows, states.o, states.lse, queries);
  return states;
}

}  // namespace qfs::test
