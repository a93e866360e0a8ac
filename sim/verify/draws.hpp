// Seeded draws and distances for the sections.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qfs::verify {

/// Normal values of mean 0.
std::vector<float> draw(std::size_t size, std::uint64_t seed, std::uint64_t stream,
                        double deviation = 1);

/// The middle one, of an even number the upper of the two; at least one value.
double median(std::vector<double> values);
/// At least one value; NaN if any is.
double greatest(std::span<const double> values);

/// The largest absolute difference, NaN if any is; equally long, not empty.
template <class A, class B>
double max_difference(const A& a, const B& b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differences.push_back(std::abs(double{a[i]} - double{b[i]}));
  }
  return greatest(differences);
}

/// |a - truth| / |truth| in L2; equally long.
template <class A, class B>
double relative_distance(const A& a, const B& truth) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = double{a[i]} - double{truth[i]};
    difference += apart * apart;
    norm += double{truth[i]} * double{truth[i]};
  }
  return std::sqrt(difference / norm);
}

}  // namespace qfs::verify
