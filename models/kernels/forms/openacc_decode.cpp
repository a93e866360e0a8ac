#include "kernels/forms/openacc_decode.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

namespace qfs {
namespace {

/// One head's operands, as the directives name them.
struct HeadOperands {
  const float* q;
  const float* k;
  const float* v;
  float* weights;
  float* out;
};

void head_sequential(std::size_t n, std::size_t key_dim, std::size_t value_dim,
                     const HeadOperands& head) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(key_dim));
  float top = -std::numeric_limits<float>::infinity();
  for (std::size_t l = 0; l < n; ++l) {
    float dot = 0;
    for (std::size_t c = 0; c < key_dim; ++c) {
      dot += head.q[c] * head.k[l * key_dim + c];
    }
    head.weights[l] = scale * dot;
    top = std::max(top, head.weights[l]);
  }
  float total = 0;
  for (std::size_t l = 0; l < n; ++l) {
    head.weights[l] = std::exp(head.weights[l] - top);
    total += head.weights[l];
  }
  const float inverse = 1.0F / total;
  for (std::size_t c = 0; c < value_dim; ++c) {
    float sum = 0;
    for (std::size_t l = 0; l < n; ++l) {
      sum += head.weights[l] * inverse * head.v[l * value_dim + c];
    }
    head.out[c] = sum;
  }
}

void head_openacc(std::size_t n, std::size_t key_dim, std::size_t value_dim,
                  const HeadOperands& head) {
  const float* const q = head.q;
  const float* const k = head.k;
  const float* const v = head.v;
  float* const weights = head.weights;
  float* const out = head.out;
  const float scale = 1.0F / std::sqrt(static_cast<float>(key_dim));
#pragma acc data copyin(q [0:key_dim], k [0:n * key_dim], v [0:n * value_dim]) \
    create(weights [0:n]) copyout(out [0:value_dim])
  {
    float top = -std::numeric_limits<float>::infinity();
#pragma acc parallel loop gang reduction(max : top)
    for (std::size_t l = 0; l < n; ++l) {
      float dot = 0;
#pragma acc loop vector reduction(+ : dot)
      for (std::size_t c = 0; c < key_dim; ++c) {
        dot += q[c] * k[l * key_dim + c];
      }
      weights[l] = scale * dot;
      top = weights[l] > top ? weights[l] : top;
    }
    float total = 0;
#pragma acc parallel loop gang vector reduction(+ : total)
    for (std::size_t l = 0; l < n; ++l) {
      weights[l] = std::exp(weights[l] - top);
      total += weights[l];
    }
    const float inverse = 1.0F / total;
#pragma acc parallel loop gang vector
    for (std::size_t c = 0; c < value_dim; ++c) {
      float sum = 0;
#pragma acc loop seq
      for (std::size_t l = 0; l < n; ++l) {
        sum += weights[l] * inverse * v[l * value_dim + c];
      }
      out[c] = sum;
    }
  }
}

/// Calls one_head for every query head; heads of a group get the same rows.
template <class OneHead>
void for_each_head(const DecodeShape& shape, std::span<const float> q, std::span<const float> k,
                   std::span<const float> v, std::span<float> weights, std::span<float> out,
                   const OneHead& one_head) {
  const std::size_t n = shape.positions;
  assert(shape.key_dim > 0 && shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
  assert(q.size() == shape.heads * shape.key_dim && out.size() == shape.heads * shape.value_dim);
  assert(k.size() == shape.kv_heads * n * shape.key_dim);
  assert(v.size() == shape.kv_heads * n * shape.value_dim && weights.size() == n);
  if (n == 0) {
    std::fill(out.begin(), out.end(), 0.0F);
    return;
  }
  for (std::size_t g = 0; g < shape.heads; ++g) {
    const std::size_t row = g * shape.kv_heads / shape.heads * n;
    one_head(n, shape.key_dim, shape.value_dim,
             HeadOperands{q.data() + g * shape.key_dim, k.data() + row * shape.key_dim,
                          v.data() + row * shape.value_dim, weights.data(),
                          out.data() + g * shape.value_dim});
  }
}

}  // namespace

void decode_sequential(const DecodeShape& shape, std::span<const float> q, std::span<const float> k,
                       std::span<const float> v, std::span<float> weights, std::span<float> out) {
  for_each_head(shape, q, k, v, weights, out, head_sequential);
}

void decode_openacc(const DecodeShape& shape, std::span<const float> q, std::span<const float> k,
                    std::span<const float> v, std::span<float> weights, std::span<float> out) {
  for_each_head(shape, q, k, v, weights, out, head_openacc);
}

Bytes decode_traffic(const DecodeShape& shape) {
  const std::size_t row = shape.key_dim + shape.value_dim;
  const std::size_t values = shape.heads * row + shape.kv_heads * shape.positions * row;
  return Bytes(static_cast<std::int64_t>(values * sizeof(float)));
}

Bytes score_matrix_bytes(std::size_t positions) {
  return Bytes(static_cast<std::int64_t>(positions * positions * sizeof(float)));
}

}  // namespace qfs
