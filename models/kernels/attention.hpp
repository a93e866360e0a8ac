// Decode attention as a fold over softmax states. A state is (o, lse) per query head: the attention
// output among the positions seen so far and the log of their summed exponentials (001 sections 3
// and 5). Scores are s = q.k / sqrt(head_dim). An empty state has lse = -infinity and an o that is
// never read.
//
// Two forms of the sweep give the same state up to rounding: the online one (`sweep`) takes scores,
// weights and values block by block; the three-step one keeps all scores, so that whatever turns
// scores into weights may stand between `attention_scores` and `weighted_values`: the exact softmax
// in `sweep_three_step`, a calibrated unit in softmax_unit.hpp.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/format.hpp"

namespace qfs {

/// Cached rows of every KV head. Row t of KV head h is the row h * head_rows + t of k and of v,
/// each row head_dim values in `format`; where the format has scales, so is its scale in k_scales
/// and v_scales.
struct KvRows {
  Format format = Format::fp32;
  const std::byte* k = nullptr;
  const std::byte* v = nullptr;
  const float* k_scales = nullptr;
  const float* v_scales = nullptr;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t head_rows = 0;  // rows between KV heads; at least positions
  std::size_t positions = 0;  // rows that exist; 0 is legal
};

/// How a sweep is run, which changes none of its results.
struct SweepOptions {
  std::size_t queries = 1;  // query rows over the same cache
  std::size_t threads = 1;  // at least 1
};

/// log(exp(a) + exp(b)) without overflow; either may be -infinity, both give -infinity.
float log_add_exp(float a, float b);
double log_add_exp_reference(double a, double b);

/// Attention of each query over all rows. q holds, query by query, `heads` rows of head_dim, heads
/// a multiple of kv_heads; query head g reads KV head g * kv_heads / heads, and all heads and
/// queries of a group share one pass over K and V. o.size() == q.size(), lse.size() == queries *
/// heads. Scores and sums in fp32. The result depends on nothing but the arguments and the
/// instruction set (fixed chunks of positions, merged in order). positions == 0 gives lse =
/// -infinity and leaves o zero.
void sweep(std::span<const float> q, const KvRows& rows, std::span<float> o, std::span<float> lse,
           const SweepOptions& options = {});
/// The same in fp64, two plain passes per head. Needs positions >= 1 to write o; lse as above.
void sweep_reference(std::span<const double> q, const KvRows& rows, std::span<double> o,
                     std::span<double> lse, std::size_t queries = 1);

/// Step one of the three: scores[g * positions + t] = q_g . k_t / sqrt(d) for every head of every
/// query, in the order of q. scores.size() == lse.size() * positions in the terms of `sweep`.
void attention_scores(std::span<const float> q, const KvRows& rows, std::span<float> scores,
                      const SweepOptions& options = {});
/// Step three: o_g = sum over t of weights[g * positions + t] * v_t, not divided by anything.
void weighted_values(std::span<const float> weights, const KvRows& rows, std::span<float> o,
                     const SweepOptions& options = {});
/// The three steps with the exact softmax between; arguments as `sweep`. `scratch` holds lse.size()
/// * positions values.
void sweep_three_step(std::span<const float> q, const KvRows& rows, std::span<float> scratch,
                      std::span<float> o, std::span<float> lse, const SweepOptions& options = {});

/// (o, lse) <- (o, lse) merged with (other_o, other_lse), one head: o = lerp(other_o, o,
/// sigmoid(lse - other_lse)). The o of an empty side is not read. Returns the merged lse.
float merge(std::span<float> o, float lse, std::span<const float> other_o, float other_lse);
double merge_reference(std::span<double> o, double lse, std::span<const double> other_o,
                       double other_lse);

/// Folds the current token into the state of every head: for query head g, s = q_g . k_h / sqrt(d)
/// joins with value v_h, h its KV head. q and o hold `lse.size()` heads of head_dim; k and v hold
/// the KV heads, which divide the heads.
void fold(std::span<const float> q, std::span<const float> k, std::span<const float> v,
          std::size_t head_dim, std::span<float> o, std::span<float> lse);
void fold_reference(std::span<const double> q, std::span<const double> k, std::span<const double> v,
                    std::size_t head_dim, std::span<double> o, std::span<double> lse);

}  // namespace qfs
