// Finds by simulation the contexts at which something begins (DESIGN.md 7): where sweep and
// feed-forward take equally long ("ffn"), where the merge first waits for the sweep ("latency")
// and, pooled, where cache side and pool are busy equally long ("busy").
#pragma once

#include <vector>

#include "decode/block_order.hpp"
#include "hardware/execution_table.hpp"
#include "sim/config/run_config.hpp"
#include "sim/run/result.hpp"
#include "system/layout.hpp"

namespace qfs {

/// The crossovers of the configured arrangement, latency block order by block order, of one wave by
/// itself. Bracketed to one position by timing-only simulations, then extended from below to the
/// crossing; each beside its closed form. Empty for arrangements and settings in which nothing can
/// overlap (colocated, tensor_parallel, append_first).
std::vector<Crossover> find_crossovers(const RunConfig& config);

/// How much longer the longest sweep of the first layer runs than its feed-forward, first step.
Seconds sweep_beyond_ffn(const ExecutionTable& table);
/// How long a layer's merge and output wait for the sweep's result after all else that they need is
/// there; negative: how much earlier the result is there. Largest over the layers of the first
/// step.
Seconds merge_wait(const ExecutionTable& table);
/// How much longer the busiest cache device works for the first layer than the pool, first step.
Seconds cache_side_beyond_pool(const ExecutionTable& table, const Layout& layout);

}  // namespace qfs
