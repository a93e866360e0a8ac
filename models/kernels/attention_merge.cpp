#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/attention.hpp"
#include "kernels/dot.hpp"

namespace qfs {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float minus_infinity = -infinity;

}  // namespace

float log_add_exp(float a, float b) {
  if (a == minus_infinity || b == minus_infinity) {
    return a == minus_infinity ? b : a;  // before -inf - (-inf) is formed
  }
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

float merge(std::span<float> o, float lse, std::span<const float> other_o, float other_lse) {
  assert(o.size() == other_o.size());
  if (other_lse == minus_infinity) {
    return lse;
  }
  if (lse == minus_infinity && other_lse < infinity) {  // else it is no number: o gets NaN below
    std::ranges::copy(other_o, o.begin());
    return other_lse;
  }
  // Only non-positive numbers are ever exponentiated, so nothing overflows. Both weights by
  // themselves: 1 - weight would lose the digits of a small one.
  const float high = std::max(lse, other_lse);
  const float mine = std::exp(lse - high);
  const float theirs = std::exp(other_lse - high);
  const float weight = mine / (mine + theirs);
  const float other_weight = theirs / (mine + theirs);
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
