// What a system under simulation is built from: plain numbers, already checked.
#pragma once

#include <cstddef>

#include "decode/fault.hpp"
#include "decode/graph.hpp"
#include "decode/work.hpp"
#include "hardware/config.hpp"
#include "hardware/disturbances.hpp"
#include "system/arrangement.hpp"
#include "system/layout.hpp"

namespace qfs {

struct SystemConfig {
  Arrangement arrangement = Arrangement::two_device;
  PoolConfig pool;              // pooled
  Ports ports = Ports::shared;  // of several cache devices
  CachePolicy cache = {};       // two_device
  DeviceConfig compute_device;
  DeviceConfig cache_device;  // where there is one
  LinkConfig link;            // of every port, where there is more than one device
  CountingRules rules;        // shape, formats, accounting, attention
  GraphConfig graph;          // block order, current token, contexts, tokens, cache split, ranks
  std::size_t wave = 0;       // requests of a wave; 0: all of them
  Fault fault;
  Disturbances disturbances;
};

/// The devices and ports of the system.
Layout layout_of(const SystemConfig& config);

}  // namespace qfs
