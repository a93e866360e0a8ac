// Simulations for tests: from the closed form's parameters to the simulator's, and what a table
// says at a glance.
#pragma once

#include "analysis/parameters.hpp"
#include "hardware/execution_table.hpp"
#include "system/simulation.hpp"

namespace qfs::test {

/// The same system and workload for the simulator; numerics off.
SystemConfig system_config(const AnalyticParameters& parameters, Arrangement arrangement);

/// Largest end among the rows that the step's output waits for: all but appends and messages.
Femtoseconds last_output(const ExecutionTable& table, StepId step);

/// A decoder small enough to compute in milliseconds: 3 layers, 4 query heads on 2 KV heads of 8.
ModelShape tiny_shape();
/// The same with so many KV heads and twice as many query heads, for caches and weights cut by
/// heads: its feed-forward and vocabulary divide by 2, 3, 4, 6 and 8.
ModelShape shape_with_heads(std::size_t kv_heads);

}  // namespace qfs::test
