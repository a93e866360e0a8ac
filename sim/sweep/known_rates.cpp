#include "sim/sweep/known_rates.hpp"

#include <algorithm>

#include "sim/run/achieved.hpp"

namespace qfs {
namespace {

bool is_same_dram(const std::optional<dram::DramConfig>& a,
                  const std::optional<dram::DramConfig>& b) {
  if (!a || !b) {
    return a.has_value() == b.has_value();
  }
  return a->organisation == b->organisation && a->timing == b->timing &&
         a->controller == b->controller;
}

/// In all that times of its memory hang on.
bool is_same_memory(const DeviceConfig& a, const DeviceConfig& b) {
  return a.memory == b.memory && is_same_dram(a.dram, b.dram) && a.dram_parts == b.dram_parts &&
         a.kv_banks == b.kv_banks && a.kv_chunk == b.kv_chunk;
}

bool is_dram(const DeviceConfig& device) { return device.memory == MemoryTier::stream; }

}  // namespace

void KnownRates::learn(const RunConfig& run) {
  if (!is_dram(run.compute_device) && !is_dram(run.cache_device)) {
    return;
  }
  const auto is_alike = [&](const Memories& known) {
    return known.arrangement == run.arrangement &&
           is_same_memory(known.compute, run.compute_device) &&
           is_same_memory(known.cache, run.cache_device);
  };
  if (std::none_of(known_.begin(), known_.end(), is_alike)) {
    achieved_bandwidth(run);
    known_.push_back({run.arrangement, run.compute_device, run.cache_device});
  }
}

}  // namespace qfs
