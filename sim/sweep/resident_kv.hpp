// How much KV cache a run keeps on its devices.
#pragma once

#include "sim/config/run_config.hpp"

namespace qfs {

/// Of all requests and layers at the end of the run.
Bytes resident_kv(const RunConfig& run);

}  // namespace qfs
