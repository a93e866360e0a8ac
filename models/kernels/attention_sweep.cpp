#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/attention.hpp"
#include "kernels/dot.hpp"
#include "kernels/format.hpp"

namespace qfs {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// Rows taken together: their K and their V stay in the nearest cache while all heads of a group use
// them.
constexpr std::size_t block_rows = 64;
// Rows of V added to an output in one go, which saves three of four loads and stores of it.
constexpr std::size_t tile_rows = 4;
// Heads of one pass over a KV head; the rare larger group takes further passes.
constexpr std::size_t pass_heads = 64;

/// The softmax denominator of one head so far, in units of exp(max); its `o` is kept in the same
/// units.
struct Running {
  float max = minus_infinity;
  float sum = 0;
};

/// Up to block_rows neighbouring rows of one KV head.
template <class Stored>
struct Block {
  const Stored* k;
  const Stored* v;
  std::size_t rows;
  std::size_t head_dim;
};

using Weights = std::array<float, block_rows>;

template <std::size_t Heads, class Stored>
void score(const float* q, const Block<Stored>& block, std::array<Weights, Heads>& scores) {
  const float scale = 1 / std::sqrt(static_cast<float>(block.head_dim));
  for (std::size_t t = 0; t < block.rows; ++t) {
    const auto products =
        dots<Heads>(block.k + t * block.head_dim, q, block.head_dim, block.head_dim);
    for (std::size_t h = 0; h < Heads; ++h) {
      scores[h][t] = products[h] * scale;
    }
  }
}

/// Turns scores into weights exp(score - max) under the maximum that now holds, and brings `o` to
/// it.
void weigh(std::span<float> scores, Running& running, std::span<float> o) {
  const float max = std::max(running.max, *std::ranges::max_element(scores));
  float sum = 0;
  for (float& score : scores) {
    score = std::exp(score - max);
    sum += score;
  }
  const float rescale = std::exp(running.max - max);  // 0 at the first block
  if (rescale != 1) {
    std::ranges::for_each(o, [rescale](float& value) { value *= rescale; });
  }
  running = {max, running.sum * rescale + sum};
}

/// o[h] += sum over the Rows rows of weight * v.
template <std::size_t Rows, std::size_t Heads, class Stored>
void add_rows(const Stored* v, std::size_t head_dim, const std::array<Weights, Heads>& weights,
              std::size_t first, float* o) {
  std::array<std::array<float, Rows>, Heads> w;
  for (std::size_t h = 0; h < Heads; ++h) {
    std::copy_n(weights[h].begin() + static_cast<std::ptrdiff_t>(first), Rows, w[h].begin());
  }
  v += first * head_dim;
#pragma omp simd
  for (std::size_t c = 0; c < head_dim; ++c) {
    for (std::size_t h = 0; h < Heads; ++h) {
      float sum = w[h][0] * to_float(v[c]);
      for (std::size_t r = 1; r < Rows; ++r) {
        sum += w[h][r] * to_float(v[r * head_dim + c]);
      }
      o[h * head_dim + c] += sum;
    }
  }
}

/// One block for `Heads` neighbouring query heads of a group.
template <std::size_t Heads, class Stored>
void sweep_block(const float* q, const Block<Stored>& block, Running* running, float* o) {
  std::array<Weights, Heads> weights;
  score<Heads>(q, block, weights);
  for (std::size_t h = 0; h < Heads; ++h) {
    weigh(std::span(weights[h]).first(block.rows), running[h],
          {o + h * block.head_dim, block.head_dim});
  }
  std::size_t t = 0;
  for (; t + tile_rows <= block.rows; t += tile_rows) {
    add_rows<tile_rows>(block.v, block.head_dim, weights, t, o);
  }
  for (; t < block.rows; ++t) {
    add_rows<1>(block.v, block.head_dim, weights, t, o);
  }
}

/// All rows of one KV head for up to pass_heads query heads that read it.
template <class Stored>
void sweep_pass(std::span<const float> q, const Block<Stored>& rows, std::span<float> o,
                std::span<float> lse) {
  std::array<Running, pass_heads> running;
  const std::size_t heads = lse.size();
  const std::size_t head_dim = rows.head_dim;
  for (std::size_t t = 0; t < rows.rows; t += block_rows) {
    const Block<Stored> block{rows.k + t * head_dim, rows.v + t * head_dim,
                              std::min(block_rows, rows.rows - t), head_dim};
    std::size_t h = 0;
    for (; h + 2 <= heads; h += 2) {
      sweep_block<2>(&q[h * head_dim], block, &running[h], &o[h * head_dim]);
    }
    if (h < heads) {
      sweep_block<1>(&q[h * head_dim], block, &running[h], &o[h * head_dim]);
    }
  }
  for (std::size_t h = 0; h < heads; ++h) {
    for (float& value : o.subspan(h * head_dim, head_dim)) {
      value /= running[h].sum;
    }
    lse[h] = running[h].max + std::log(running[h].sum);
  }
}

}  // namespace

template <class Stored>
void sweep(std::span<const float> q, const KvRows<Stored>& rows, std::span<float> o,
           std::span<float> lse) {
  const std::size_t head_dim = rows.head_dim;
  assert(head_dim >= 1 && rows.kv_heads >= 1);
  assert(!lse.empty() && lse.size() % rows.kv_heads == 0);
  assert(q.size() == lse.size() * head_dim && o.size() == q.size());
  assert(rows.positions == 0 || (rows.k != nullptr && rows.v != nullptr));
  assert(rows.kv_heads == 1 || rows.head_stride >= rows.positions * head_dim);
  std::ranges::fill(o, 0.0F);
  std::ranges::fill(lse, minus_infinity);
  if (rows.positions == 0) {
    return;
  }
  const std::size_t group = lse.size() / rows.kv_heads;
  for (std::size_t g = 0; g < lse.size();) {
    const std::size_t kv_head = g / group;
    const std::size_t heads = std::min(pass_heads, (kv_head + 1) * group - g);
    const std::size_t at = kv_head * rows.head_stride;
    sweep_pass<Stored>(q.subspan(g * head_dim, heads * head_dim),
                       {rows.k + at, rows.v + at, rows.positions, head_dim},
                       o.subspan(g * head_dim, heads * head_dim), lse.subspan(g, heads));
    g += heads;
  }
}

template void sweep(std::span<const float>, const KvRows<float>&, std::span<float>,
                    std::span<float>);
template void sweep(std::span<const float>, const KvRows<Bf16>&, std::span<float>,
                    std::span<float>);

}  // namespace qfs
