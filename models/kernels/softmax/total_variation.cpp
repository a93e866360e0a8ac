#include "kernels/softmax/total_variation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/random.hpp"

namespace qfs {

double total_variation(const SoftmaxUnit& unit, std::span<const double> scores) {
  std::vector<double> approximate(scores.size());
  std::vector<double> exact(scores.size());
  softmax_row<double>(unit, scores, approximate);
  softmax_row<double>({.kind = SoftmaxKind::exact}, scores, exact);
  double distance = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    distance += std::abs(approximate[j] - exact[j]);
  }
  return distance / 2;
}

std::vector<double> row_of_span(std::uint64_t seed, std::size_t keys, double span) {
  assert(span >= 0 && (span == 0 || keys >= 2));
  constexpr std::uint64_t stream = 0x726F77;  // "row"
  const Random random(seed, stream);
  std::vector<double> row(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    row[j] = random.normal(j);
  }
  const auto [max, min] = extrema_of<double>(row);
  for (double& score : row) {
    score = span == 0 ? 0 : (score - min) / (max - min) * span;
  }
  return row;
}

}  // namespace qfs
