// What the reports of an estimate share: the devices' names, which are those of the simulator's
// table, and which layers are told together.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/estimate/decode_estimate.hpp"
#include "sim/config/run_config.hpp"

namespace qfs::estimate {

inline std::string device_name(const RunConfig& config, const OperationEstimate& operation) {
  const auto numbered = [&](const char* name, std::size_t devices) {
    return devices == 1 ? name : fmt::format("{}_{}", name, operation.device);
  };
  switch (operation.role) {
    case AnalyticDeviceRole::compute:
      return "compute_device";
    case AnalyticDeviceRole::cache:
      return numbered("cache_device", config.cache.split.devices);
    case AnalyticDeviceRole::pool:
      return "pool";
    case AnalyticDeviceRole::rank:
      break;
  }
  return numbered("device", config.tensor_parallel.devices);
}

/// The last of the layers from `first` on that all do the same and send as much.
inline std::size_t last_alike(const std::vector<LayerEstimate>& layers, std::size_t first) {
  const auto same = [&](const LayerEstimate& other) {
    return alike(layers[first], other) && layers[first].wire_bytes == other.wire_bytes &&
           layers[first].messages == other.messages;
  };
  std::size_t last = first;
  while (last + 1 < layers.size() && same(layers[last + 1])) {
    ++last;
  }
  return last;
}

}  // namespace qfs::estimate
