// What a memory's commands cost: counts times picojoules (config.hpp). Background power is not
// known for these parts and not counted.
#pragma once

#include <optional>

#include "hardware/memory/dram/config.hpp"
#include "hardware/memory/dram/transaction.hpp"

namespace qfs::dram {

/// In joules; none if something that was done has no figure.
inline std::optional<double> energy_of(const DramConfig& config, const Counters& counters) {
  const Energy& each = config.energy;
  const double burst_bits = 8 * static_cast<double>(config.organisation.burst_bytes());
  const double row_bits = burst_bits * static_cast<double>(config.organisation.bursts_of_row());
  double picojoules = 0;
  const std::pair<double, const std::optional<double>&> parts[] = {
      {static_cast<double>(counters.read_bursts) * burst_bits, each.read_per_bit},
      {static_cast<double>(counters.write_bursts) * burst_bits, each.write_per_bit},
      {static_cast<double>(counters.activates) * row_bits, each.activate_per_bit}};
  for (const auto& [bits, per_bit] : parts) {
    if (bits > 0 && !per_bit) {
      return std::nullopt;
    }
    picojoules += bits * per_bit.value_or(0);
  }
  return 1e-12 * picojoules;
}

}  // namespace qfs::dram
