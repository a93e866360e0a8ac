// Residuals drawn in text, and numbers as a preset writes them.
#pragma once

#include <string>

#include "sim/calibrate/calibrate.hpp"

namespace qfs {

/// A line for each value of what rows have in common: predicted over measured, the middle and the
/// range from the 10th to the 90th percentile on an axis from -25 % to +25 %.
std::string residual_plots(const CalibratedKernel& kernel);

/// A fitted number with its unit, as a configuration takes it.
std::string written_number(const FittedKernel& kernel, const std::string& name);

/// Whether the fit would have gone further than what makes physical sense.
bool is_at_bound(const FittedKernel& kernel, const FreeParameter& parameter);

}  // namespace qfs
