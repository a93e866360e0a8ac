// Seeded vectors and the distances between them, for the tests of the kernels.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "kernels/format.hpp"

namespace qfs::test {

inline std::vector<double> draw(std::size_t size, std::uint64_t seed, std::uint64_t stream,
                                double deviation = 1) {
  const Random random(seed, stream);
  std::vector<double> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    values[i] = deviation * random.normal(i);
  }
  return values;
}

inline std::vector<float> to_floats(std::span<const double> values) {
  std::vector<float> floats;
  std::ranges::transform(values, std::back_inserter(floats),
                         [](double value) { return static_cast<float>(value); });
  return floats;
}

inline std::vector<float> draw_floats(std::size_t size, std::uint64_t seed, std::uint64_t stream,
                                      double deviation = 1) {
  return to_floats(draw(size, seed, stream, deviation));
}

inline std::vector<double> to_doubles(std::span<const float> values) {
  return {values.begin(), values.end()};
}

inline std::vector<Bf16> to_bf16s(std::span<const float> values) {
  std::vector<Bf16> narrow;
  std::ranges::transform(values, std::back_inserter(narrow), to_bf16);
  return narrow;
}

inline std::vector<float> round_bf16(std::vector<float> values) {
  round_rows(Format::bf16, 1, values);
  return values;
}

/// NaN if any difference is.
template <class A, class B>
double max_difference(const A& a, const B& b) {
  assert(a.size() == b.size() && !a.empty());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    worst = difference <= worst ? worst : difference;
    if (std::isnan(difference)) {
      break;
    }
  }
  return worst;
}

template <class A, class B>
double relative_distance(const A& a, const B& truth) {
  assert(a.size() == truth.size());
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - double{truth[i]}) * (double{a[i]} - double{truth[i]});
    norm += double{truth[i]} * double{truth[i]};
  }
  return std::sqrt(difference / norm);
}

inline double median(std::vector<double> values) {
  assert(!values.empty());
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace qfs::test
