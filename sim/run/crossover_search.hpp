// Finds by simulation the contexts at which something begins (DESIGN.md 7): where sweep and
// feed-forward take equally long ("ffn"), and where the merge first waits for the sweep
// ("latency").
#pragma once

#include <vector>

#include "decode/block_order.hpp"
#include "hardware/execution_table.hpp"
#include "sim/config/run_config.hpp"
#include "sim/run/result.hpp"

namespace qfs {

/// The crossovers of the configured arrangement, block order by block order. Bracketed to one
/// position by timing-only simulations, then extended from below to the crossing; each beside its
/// closed form. Empty for arrangements and settings in which nothing can overlap (colocated,
/// append_first).
std::vector<Crossover> find_crossovers(const RunConfig& config);

/// How much longer the sweep of a layer runs than its feed-forward, first layer, first step.
Seconds sweep_beyond_ffn(const ExecutionTable& table);
/// How long a layer's merge and output wait for the sweep's result after all else that they need is
/// there; negative: how much earlier the result is there. Largest over the layers of the first
/// step.
Seconds merge_wait(const ExecutionTable& table);

}  // namespace qfs
