// Stacks of equal layers of which a few are simulated and stand for all: once each layer does what
// the one before it did, a period later, so do those that would follow. On ideal memories that is
// exact, as times are whole femtoseconds; on DRAM, whose refreshes fall now here, now there in a
// layer, the period is a mean.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "hardware/execution_table.hpp"
#include "sim/config/run_config.hpp"

namespace qfs {

/// Whether it is worth a try: not if there are only few layers, or they need not be alike, as with
/// values, requests that leave their wave, faults, jitter and blocks that are copied ahead.
bool may_repeat(const RunConfig& run);
/// The same run with the few layers that may stand for all of it.
RunConfig with_few_layers(RunConfig run);

/// What the layers that were not simulated add.
struct LayersLeftOut {
  std::vector<std::vector<Femtoseconds>> time;  // by wave and step
  Femtoseconds sweep_exposed;                   // of the first wave's first step, as in its ledger
  Femtoseconds link_exposed;                    // likewise
  Bytes wire_bytes;                             // of the first step of all requests
};

/// Of a run of `layers`, from the table of with_few_layers(run). None: its layers do not repeat, in
/// any row by more than a 50th of the period, or at all where memories are ideal; or one waits for
/// its cache's growth by the token before, which it might not after more layers.
std::optional<LayersLeftOut> layers_left_out(const RunConfig& few, std::size_t layers,
                                             const ExecutionTable& table);

}  // namespace qfs
