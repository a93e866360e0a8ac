// Softmax attention as a textbook writes it, in fp64; a state is merged through plain exponentials.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/format.hpp"

namespace qfs {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

double score(std::span<const double> q, const auto* k) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t c = 0; c < q.size(); ++c) {
    sum += q[c] * double{k[c]};
  }
  return sum / std::sqrt(static_cast<double>(q.size()));
}

/// Row `row` of K or of V as numbers.
void read(const KvRows& rows, const std::byte* values, const float* scales, std::size_t row,
          std::span<float> out) {
  const std::size_t width = rows.head_dim * bytes_per_value(rows.format);
  decode_row(rows.format, {values + row * width, width}, scales == nullptr ? 1 : scales[row], out);
}

double attend(std::span<const double> q, const KvRows& rows, std::size_t first,
              std::span<double> o) {
  std::vector<float> row(rows.head_dim);
  std::vector<double> weights(rows.positions);
  for (std::size_t t = 0; t < rows.positions; ++t) {
    read(rows, rows.k, rows.k_scales, first + t, row);
    weights[t] = score(q, row.data());
  }
  const double max = *std::ranges::max_element(weights);
  double total = 0;
  std::ranges::fill(o, 0.0);
  // As good as empty; a NaN, which no maximum shows, is none of these.
  if (std::ranges::all_of(weights, [](double score) { return score == minus_infinity; })) {
    return minus_infinity;
  }
  for (std::size_t t = 0; t < rows.positions; ++t) {
    const double weight = std::exp(weights[t] - max);
    total += weight;
    read(rows, rows.v, rows.v_scales, first + t, row);
    for (std::size_t c = 0; c < o.size(); ++c) {
      o[c] += weight * double{row[c]};
    }
  }
  for (double& value : o) {
    value /= total;
  }
  return max + std::log(total);
}

}  // namespace

double log_add_exp_reference(double a, double b) {
  const double max = std::max(a, b);
  return max == minus_infinity ? max : max + std::log(std::exp(a - max) + std::exp(b - max));
}

void sweep_reference(std::span<const double> q, const KvRows& rows, std::span<double> o,
                     std::span<double> lse, std::size_t queries) {
  const std::size_t d = rows.head_dim;
  assert(queries >= 1 && lse.size() % queries == 0);
  const std::size_t heads = lse.size() / queries;
  assert(d >= 1 && rows.kv_heads >= 1 && heads % rows.kv_heads == 0);
  assert(q.size() == lse.size() * d && o.size() == q.size());
  for (std::size_t g = 0; g < lse.size(); ++g) {
    if (rows.positions == 0) {
      lse[g] = minus_infinity;
      continue;
    }
    const std::size_t first = g % heads * rows.kv_heads / heads * rows.head_rows;
    lse[g] = attend(q.subspan(g * d, d), rows, first, o.subspan(g * d, d));
  }
}

double merge_reference(std::span<double> o, double lse, std::span<const double> other_o,
                       double other_lse) {
  assert(o.size() == other_o.size());
  const double max = std::max(lse, other_lse);
  if (max == minus_infinity) {
    return minus_infinity;
  }
  const double mine = std::exp(lse - max);
  const double theirs = std::exp(other_lse - max);
  for (std::size_t c = 0; c < o.size(); ++c) {
    // An empty side may hold NaN, which a weight of zero would not remove.
    const double a = lse == minus_infinity ? 0 : mine * o[c];
    const double b = other_lse == minus_infinity ? 0 : theirs * other_o[c];
    o[c] = (a + b) / (mine + theirs);
  }
  return log_add_exp_reference(lse, other_lse);
}

void fold_reference(std::span<const double> q, std::span<const double> k, std::span<const double> v,
                    std::size_t head_dim, std::span<double> o, std::span<double> lse) {
  assert(head_dim >= 1 && q.size() == lse.size() * head_dim && o.size() == q.size());
  assert(!k.empty() && k.size() % head_dim == 0 && v.size() == k.size());
  const std::size_t group = q.size() / k.size();
  assert(group >= 1 && q.size() == group * k.size());
  for (std::size_t g = 0; g < lse.size(); ++g) {
    const std::size_t at = g / group * head_dim;
    const double s = score(q.subspan(g * head_dim, head_dim), &k[at]);
    lse[g] = merge_reference(o.subspan(g * head_dim, head_dim), lse[g], v.subspan(at, head_dim), s);
  }
}

}  // namespace qfs
