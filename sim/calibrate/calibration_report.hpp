// Calibrations and evaluations as text, JSON and presets.
#pragma once

#include <string>

#include "sim/calibrate/calibrate.hpp"

namespace qfs {

/// Errors on rows not used, beside those of one line; the fitted numbers; residuals drawn by
/// context, batch and heads (attention) or by m, n and k (gemm).
std::string to_text(const Calibration& calibration);
/// A file for configs/fitted whose numbers carry their source and the fit's quality. `source` says
/// where the rows come from, on one line.
std::string to_preset(const Calibration& calibration, const std::string& source);

std::string to_text(const FittedDevice& device, const Evaluation& evaluation);
/// {"attention": {"median", "p90", "worst", "rows"}, "gemm": {...}}: errors as shares of the
/// measured time (0.05 is 5 %). attention counts both cache formats, gemm bf16 products alone.
/// A kernel without rows is left out.
std::string to_json(const Evaluation& evaluation);

}  // namespace qfs
