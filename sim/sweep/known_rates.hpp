// The rates of DRAM that a process has found, so that the children it forks begin with them
// (hardware/memory/dram/stream_rates.hpp) instead of finding them one by one.
#pragma once

#include <vector>

#include "sim/config/run_config.hpp"

namespace qfs {

class KnownRates {
 public:
  /// Finds those of the run's memories, unless of memories like these it has.
  void learn(const RunConfig& run);

 private:
  struct Memories {
    Arrangement arrangement;
    DeviceConfig compute;
    DeviceConfig cache;
  };
  std::vector<Memories> known_;
};

}  // namespace qfs
