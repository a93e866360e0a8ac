#include "kernels/norm.hpp"

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace qfs {
namespace {

constexpr std::size_t lanes = 8;

// Partial sums in fixed lanes: the order of the sum is the same on every machine.
double sum_of_squares(std::span<const float> x) {
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= x.size(); i += lanes) {
#pragma omp simd
    for (std::size_t j = 0; j < lanes; ++j) {
      sums[j] += double{x[i + j]} * double{x[i + j]};
    }
  }
  for (std::size_t j = 0; i + j < x.size(); ++j) {
    sums[j] += double{x[i + j]} * double{x[i + j]};
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

void rms_norm(std::span<const float> x, std::span<const Bf16> gain, double epsilon,
              std::span<float> y) {
  assert(!x.empty() && gain.size() == x.size() && y.size() == x.size());
  assert(epsilon >= 0);
  const double mean = sum_of_squares(x) / static_cast<double>(x.size());
  const auto scale = static_cast<float>(1 / std::sqrt(mean + epsilon));
#pragma omp simd
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = to_float(gain[i]) * (x[i] * scale);
  }
}

void head_norm(std::span<float> heads, std::span<const Bf16> gain, double epsilon) {
  assert(!gain.empty() && heads.size() % gain.size() == 0);
  for (std::size_t at = 0; at < heads.size(); at += gain.size()) {
    const std::span<float> head = heads.subspan(at, gain.size());
    rms_norm(head, gain, epsilon, head);
  }
}

void rms_norm_reference(std::span<const double> x, std::span<const Bf16> gain, double epsilon,
                        std::span<double> y) {
  assert(!x.empty() && gain.size() == x.size() && y.size() == x.size());
  double mean = 0;
  for (const double value : x) {
    mean += value * value / static_cast<double>(x.size());
  }
  const double root = std::sqrt(mean + epsilon);
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = double{to_float(gain[i])} * x[i] / root;
  }
}

void head_norm_reference(std::span<double> heads, std::span<const Bf16> gain, double epsilon) {
  assert(!gain.empty() && heads.size() % gain.size() == 0);
  const std::size_t count = heads.size() / gain.size();
  for (std::size_t h = 0; h < count; ++h) {
    const std::span<double> head = heads.subspan(h * gain.size(), gain.size());
    rms_norm_reference(head, gain, epsilon, head);
  }
}

}  // namespace qfs
