// How well a fit predicts rows that it has not seen, with rows withheld in three ways. Each row is
// predicted once by a fit without it; a table look-up would pass the first way and fail the others.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/fit/error_summary.hpp"
#include "sim/calibrate/kernel_fit.hpp"

namespace qfs {

/// A way of withholding rows: each row belongs to one fold, and a fold is predicted by a fit on the
/// others.
struct Withholding {
  std::string name;
  std::vector<std::size_t> fold_of_row;
  std::size_t folds = 0;
};

/// Half of the rows, drawn; whole contexts and whole head counts of sweeps; whole m and n of
/// products.
std::vector<Withholding> ways_of_withholding(KernelKind kind, std::span<const MeasuredKernel> rows);

struct Validation {
  std::string name;
  ErrorSummary fit;   // of rows not used for it
  ErrorSummary line;  // latency + bytes / bandwidth, on the same rows
};

/// `done` is called after each fit.
Validation validated(const DeviceFacts& facts, KernelKind kind,
                     std::span<const MeasuredKernel> rows, const Withholding& way,
                     const FitOptions& options, const std::function<void()>& done = {});

}  // namespace qfs
