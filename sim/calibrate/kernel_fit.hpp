// Fits the numbers of one kind of kernel on one device to its measured launches.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analysis/fit/robust_fit.hpp"
#include "sim/calibrate/device_facts.hpp"
#include "sim/calibrate/measured_rows.hpp"
#include "sim/config/cost_load.hpp"

namespace qfs {

enum class KernelKind { sweep, product, narrow_product };
template <>
inline constexpr EnumNames<KernelKind, 3> enum_names<KernelKind>{
    {{KernelKind::sweep, "attention"},
     {KernelKind::product, "gemm bf16"},
     {KernelKind::narrow_product, "gemm fp8"}}};

struct FittedKernel {
  KernelCost cost;
  MeasuringClock clock;  // of sweeps
};

/// The numbers that are fitted: those of the device's facts, without those of fp8 where no row has
/// it.
std::vector<FreeParameter> free_parameters(const DeviceFacts& facts, KernelKind kind,
                                           std::span<const MeasuredKernel> rows);

/// At least one row.
FittedKernel fit_kernel(const DeviceFacts& facts, KernelKind kind,
                        std::span<const MeasuredKernel> rows, const FitOptions& options = {});

/// ln(predicted / measured) of each row, the cache warm.
std::vector<double> log_errors_of(const FittedKernel& kernel, std::span<const MeasuredKernel> rows);

/// What one line does: latency + bytes / bandwidth, fitted alike.
struct Line {
  Seconds latency{0};
  BytesPerSecond bandwidth{unlimited};
};
Line fit_line(const DeviceFacts& facts, std::span<const MeasuredKernel> rows,
              const FitOptions& options = {});
std::vector<double> log_errors_of(const Line& line, std::span<const MeasuredKernel> rows);

}  // namespace qfs
