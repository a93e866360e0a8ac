// The ledger of a step (DESIGN 9): what each instant of it was spent on, in whole femtoseconds.
#pragma once

#include <span>
#include <vector>

#include "hardware/execution_table.hpp"
#include "sim/report/steps.hpp"
#include "sim/report/waves.hpp"

namespace qfs {

/// Time spent waiting for operations of one kind.
struct WaitingFor {
  OpKind op = OpKind::embed;
  Femtoseconds time;
};

/// Each instant of the step belongs to the first of these that holds for the wave, so that they add
/// up to the step.
struct StepLedger {
  Femtoseconds merge_and_output;  // its `o` or merge is running
  Femtoseconds compute;           // another of its static operations is running
  Femtoseconds sweep_exposed;     // one of its sweeps, or a phase or fetch of it, is running
  Femtoseconds link_exposed;      // a message of it is in flight
  Femtoseconds waiting;           // none of these
  /// Adds up to `waiting`, in program order: for an append in progress if there is one, else for
  /// the operation that starts next.
  std::vector<WaitingFor> waiting_for;
  Femtoseconds sweep_busy;  // at least one of its sweeps is running, whatever else is

  [[nodiscard]] Femtoseconds total() const {
    return merge_and_output + compute + sweep_exposed + link_exposed + waiting;
  }
  [[nodiscard]] Femtoseconds sweep_hidden() const { return sweep_busy - sweep_exposed; }
  /// Of the time that sweeps run; 0 if none does.
  [[nodiscard]] double hidden_share() const;
};

/// One ledger per step of a wave, from its rows. O(n log n) in the rows.
std::vector<StepLedger> ledgers_of(const WaveRows& rows, std::span<const StepTime> steps);
std::vector<StepLedger> ledgers_of(const ExecutionTable& table, std::span<const StepTime> steps,
                                   const WaveRequests& wave);

}  // namespace qfs
