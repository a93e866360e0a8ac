#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/forms/decode_forms.hpp"

namespace qfs {
namespace {

double score_of(std::span<const float> q, std::span<const float> k) {
  double product = 0;
  for (std::size_t j = 0; j < q.size(); ++j) {
    product += double{q[j]} * double{k[j]};
  }
  return product / std::sqrt(static_cast<double>(q.size()));
}

}  // namespace

void attend_reference(const FormShape& shape, const FormInputs& in, std::span<double> out,
                      std::span<double> lse) {
  assert(shape.positions >= 1 && in.capacity >= shape.positions);
  assert(in.q.size() == shape.heads * shape.key_dim && lse.size() == shape.heads);
  assert(out.size() == shape.heads * shape.value_dim);
  std::ranges::fill(out, 0.0);
  for (std::size_t g = 0; g < shape.heads; ++g) {
    const std::size_t slab = g * shape.kv_heads / shape.heads * in.capacity;
    const auto q = in.q.subspan(g * shape.key_dim, shape.key_dim);
    const auto score = [&](std::size_t l) {
      return score_of(q, in.k.subspan((slab + l) * shape.key_dim, shape.key_dim));
    };
    double max = -std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < shape.positions; ++l) {
      max = std::max(max, score(l));
    }
    double sum = 0;
    const std::span<double> o = out.subspan(g * shape.value_dim, shape.value_dim);
    for (std::size_t l = 0; l < shape.positions; ++l) {
      const double weight = std::exp(score(l) - max);
      sum += weight;
      for (std::size_t c = 0; c < shape.value_dim; ++c) {
        o[c] += weight * double{in.v[(slab + l) * shape.value_dim + c]};
      }
    }
    std::ranges::for_each(o, [sum](double& value) { value /= sum; });
    lse[g] = max + std::log(sum);
  }
}

}  // namespace qfs
