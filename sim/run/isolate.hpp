// SystemC allows one simulation in a process, so every simulation runs in a child of its own. That
// also frees all its memory at once, uses both cores, and lets a crash be reported instead of
// suffered.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "system/simulation.hpp"

namespace qfs {

using SimulationTask = std::function<SimulationResult()>;

/// Runs the tasks in forked children, at most `jobs` at a time, and returns their results in the
/// order of the tasks. The children see the memory of this process as it is now. What a task throws
/// is thrown here: ConfigError as ConfigError, all else, and the death of a child, as RunError; the
/// other children are then stopped. `poll` is called at least every 0.2 s while waiting. No threads
/// may be running.
std::vector<SimulationResult> run_isolated(const std::vector<SimulationTask>& tasks,
                                           std::size_t jobs,
                                           const std::function<void()>& poll = {});

/// Cores of this machine.
std::size_t default_jobs();

}  // namespace qfs
