#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/attention.hpp"
#include "kernels/dot.hpp"

namespace qfs {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// Only a non-positive number is ever exponentiated, so nothing overflows.
float sigmoid(float x) {
  const float small = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + small) : small / (1 + small);
}

}  // namespace

float log_add_exp(float a, float b) {
  const float high = std::max(a, b);
  const float low = std::min(a, b);
  if (low == minus_infinity) {
    return high;  // before -inf - (-inf) is formed
  }
  return high + std::log1p(std::exp(low - high));
}

float merge(std::span<float> o, float lse, std::span<const float> other_o, float other_lse) {
  assert(o.size() == other_o.size());
  if (other_lse == minus_infinity) {
    return lse;
  }
  if (lse == minus_infinity) {
    std::ranges::copy(other_o, o.begin());
    return other_lse;
  }
  // Both weights by themselves: 1 - weight would lose the digits of a small one.
  const float weight = sigmoid(lse - other_lse);
  const float other_weight = sigmoid(other_lse - lse);
#pragma omp simd
  for (std::size_t c = 0; c < o.size(); ++c) {
    o[c] = weight * o[c] + other_weight * other_o[c];
  }
  return log_add_exp(lse, other_lse);
}

void fold(std::span<const float> q, std::span<const float> k, std::span<const float> v,
          std::size_t head_dim, std::span<float> o, std::span<float> lse) {
  assert(head_dim >= 1 && !lse.empty());
  assert(q.size() == lse.size() * head_dim && o.size() == q.size());
  assert(!k.empty() && k.size() % head_dim == 0 && v.size() == k.size());
  const std::size_t kv_heads = k.size() / head_dim;
  assert(lse.size() % kv_heads == 0);
  const float scale = 1 / std::sqrt(static_cast<float>(head_dim));
  for (std::size_t g = 0; g < lse.size(); ++g) {
    const std::size_t at = g * kv_heads / lse.size() * head_dim;
    const float score = dots<1>(&k[at], &q[g * head_dim], head_dim, head_dim)[0] * scale;
    // A single position is a state too: its value, and its score for lse.
    lse[g] = merge(o.subspan(g * head_dim, head_dim), lse[g], v.subspan(at, head_dim), score);
  }
}

}  // namespace qfs
