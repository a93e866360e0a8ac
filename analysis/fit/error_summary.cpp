#include "analysis/fit/error_summary.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace qfs {

double quantile(std::span<const double> sorted, double share) {
  assert(!sorted.empty() && share >= 0 && share <= 1);
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double rest = place - static_cast<double>(below);
  return sorted[below] + rest * (sorted[above] - sorted[below]);
}

ErrorSummary summary_of(std::span<const double> log_errors) {
  if (log_errors.empty()) {
    return {};
  }
  std::vector<double> errors;
  errors.reserve(log_errors.size());
  for (const double error : log_errors) {
    errors.push_back(std::abs(std::expm1(error)));
  }
  std::ranges::sort(errors);
  return {quantile(errors, 0.5), quantile(errors, 0.9), errors.back(), errors.size()};
}

}  // namespace qfs
