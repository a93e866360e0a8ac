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

double to_double(double value) { return value; }
double to_double(float value) { return value; }
double to_double(Bf16 value) { return to_float(value); }

template <class Stored>
double score(std::span<const double> q, const Stored* k) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t c = 0; c < q.size(); ++c) {
    sum += q[c] * to_double(k[c]);
  }
  return sum / std::sqrt(static_cast<double>(q.size()));
}

template <class Stored>
double attend(std::span<const double> q, const Stored* k, const Stored* v, std::size_t positions,
              std::span<double> o) {
  std::vector<double> weights(positions);
  for (std::size_t t = 0; t < positions; ++t) {
    weights[t] = score(q, k + t * q.size());
  }
  const double max = *std::ranges::max_element(weights);
  double total = 0;
  std::ranges::fill(o, 0.0);
  for (std::size_t t = 0; t < positions; ++t) {
    const double weight = std::exp(weights[t] - max);
    total += weight;
    for (std::size_t c = 0; c < o.size(); ++c) {
      o[c] += weight * to_double(v[t * q.size() + c]);
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

template <class Stored>
void sweep_reference(std::span<const double> q, const KvRows<Stored>& rows, std::span<double> o,
                     std::span<double> lse) {
  const std::size_t d = rows.head_dim;
  assert(d >= 1 && rows.kv_heads >= 1 && lse.size() % rows.kv_heads == 0);
  assert(q.size() == lse.size() * d && o.size() == q.size());
  for (std::size_t g = 0; g < lse.size(); ++g) {
    if (rows.positions == 0) {
      lse[g] = minus_infinity;
      continue;
    }
    const std::size_t at = g * rows.kv_heads / lse.size() * rows.head_stride;
    lse[g] =
        attend(q.subspan(g * d, d), rows.k + at, rows.v + at, rows.positions, o.subspan(g * d, d));
  }
}

template void sweep_reference(std::span<const double>, const KvRows<float>&, std::span<double>,
                              std::span<double>);
template void sweep_reference(std::span<const double>, const KvRows<Bf16>&, std::span<double>,
                              std::span<double>);

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
