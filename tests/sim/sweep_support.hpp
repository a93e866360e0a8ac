// A small run and the sweeps over it.
#pragma once

#include <string>

#include "sim/sweep/sweep.hpp"
#include "tests/sim/config_support.hpp"

namespace qfs::test {

inline constexpr const char* swept_run = R"(
name: base
model: {hidden: 64, layers: 2, heads: 8, kv_heads: 4, head_dim: 8, ffn: 96, vocab: 128}
block: standard
arrangement: two_device
workload: {batch: 4, context: 100, tokens: 3}
compute_device: {preset: ideal, bandwidth: 1 GB/s, launch_overhead: 1 us}
cache_device: {preset: ideal, bandwidth: 1 GB/s, capacity: 1.1 MB}
link: {latency: 2 us}
)";

inline SweepResult swept(const ConfigFolder& folder, const std::string& text) {
  folder.write("base.yaml", swept_run);
  return run_sweep(load_sweep_config(folder.write("sweep.yaml", text)));
}

/// What the sweep complains of, without the folder's path; "swept" if it does not.
inline std::string sweep_complaint(const ConfigFolder& folder, const std::string& text) {
  try {
    swept(folder, text);
  } catch (const ConfigError& error) {
    return folder.without_path(error.what());
  }
  return "swept";
}

}  // namespace qfs::test
