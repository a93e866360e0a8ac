// How far predictions are from measurements, in three numbers.
#pragma once

#include <cstddef>
#include <span>

namespace qfs {

/// Of |predicted / measured - 1|, as shares of 1; all 0 without rows.
struct ErrorSummary {
  double median = 0;
  double p90 = 0;  // 90th percentile, between the two nearest rows by proportion
  double worst = 0;
  std::size_t rows = 0;
};

/// From the logarithms of predicted over measured.
ErrorSummary summary_of(std::span<const double> log_errors);

/// The value below which a share of the sorted values lies; at least one value.
double quantile(std::span<const double> sorted, double share);

}  // namespace qfs
