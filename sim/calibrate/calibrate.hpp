// A device fitted to measured kernels, with how good the fit is; and the errors of an existing one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/calibrate/cross_validation.hpp"

namespace qfs {

/// What was measured; no attention or no gemm: that kernel is left out.
struct MeasuredDevice {
  std::string attention_file;
  std::string gemm_file;
  std::vector<MeasuredKernel> attention;
  std::vector<MeasuredKernel> gemm;  // of both formats
};

/// The products of one format.
std::vector<MeasuredKernel> products_of(std::span<const MeasuredKernel> gemm, KernelKind kind);

struct CalibratedKernel {
  KernelKind kind = KernelKind::sweep;
  std::vector<MeasuredKernel> rows;
  std::vector<FreeParameter> parameters;
  FittedKernel fitted;               // to all rows
  std::vector<double> errors;        // of them
  std::vector<Validation> withheld;  // of fits without the rows that they predict
  Validation used;                   // of the fit to all rows
};

struct Calibration {
  DeviceFacts facts;
  std::vector<CalibratedKernel> kernels;
  FittedDevice device;
};

/// ConfigError if the rows cannot identify a number. Shows its progress on stderr.
Calibration calibrate(const DeviceFacts& facts, const MeasuredDevice& measured);

/// Errors on any rows; a kernel without rows is none.
struct Evaluation {
  std::optional<ErrorSummary> attention;
  std::optional<ErrorSummary> attention_bf16;
  std::optional<ErrorSummary> attention_fp8;
  std::optional<ErrorSummary> gemm;  // bf16
  std::optional<ErrorSummary> gemm_fp8;
};
Evaluation evaluated(const FittedDevice& device, const MeasuredDevice& measured);

}  // namespace qfs
