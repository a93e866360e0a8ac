// Decode attention as a fold over softmax states. A state is (o, lse) per query head: the attention
// output among the positions seen so far and the log of their summed exponentials (001 sections 3
// and 5). Scores are s = q.k / sqrt(head_dim). An empty state has lse = -infinity and an o that is
// never read.
#pragma once

#include <cstddef>
#include <span>

namespace qfs {

/// Cached rows of every KV head. Row t of KV head h starts at k + h * head_stride + t * head_dim;
/// the same for v.
template <class Stored>
struct KvRows {
  const Stored* k = nullptr;
  const Stored* v = nullptr;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t head_stride = 0;  // in values, between KV heads; at least positions * head_dim
  std::size_t positions = 0;    // rows that exist; 0 is legal
};

/// log(exp(a) + exp(b)) without overflow; either may be -infinity, both give -infinity.
float log_add_exp(float a, float b);
double log_add_exp_reference(double a, double b);

/// Attention of one query over all rows. q holds `heads` rows of head_dim, heads a multiple of
/// kv_heads; query head g reads KV head g * kv_heads / heads, and the heads of a group share one
/// pass over K and V. o.size() == q.size(), lse.size() == heads. Scores and sums in fp32. The
/// result does not depend on anything but its arguments (fixed blocks, merged in order). positions
/// == 0 gives lse = -infinity and leaves o zero. Stored is float or Bf16.
template <class Stored>
void sweep(std::span<const float> q, const KvRows<Stored>& rows, std::span<float> o,
           std::span<float> lse);
/// The same in fp64, two plain passes per head. Needs positions >= 1 to write o; lse as above.
template <class Stored>
void sweep_reference(std::span<const double> q, const KvRows<Stored>& rows, std::span<double> o,
                     std::span<double> lse);

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
