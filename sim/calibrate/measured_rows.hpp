// Measured kernels: CSV files with a header line, a row a kernel, latencies in microseconds.
//   attention  device, batch, heads, kv_heads, head_dim, kv_dtype, context, latency_us
//   gemm       device, dtype, m, n, k, latency_us
// Columns may stand in any order; others are ignored. dtype is bfloat16 or fp8.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hardware/device/cost_model.hpp"

namespace qfs {

struct MeasuredKernel {
  KernelWork work;
  Seconds latency{0};
};

/// The rows of one device: its name, or its name with _ and more (h100: h100_sxm). ConfigError for
/// a file that cannot be read, a missing column, a value that is illegal, or no row of the device.
std::vector<MeasuredKernel> read_attention(const std::filesystem::path& file,
                                           const std::string& device);
std::vector<MeasuredKernel> read_gemm(const std::filesystem::path& file, const std::string& device);

}  // namespace qfs
