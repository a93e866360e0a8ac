// Every timing rule of a DRAM as one table: after `from`, within `scope`, `to` waits this long.
#pragma once

#include <cstddef>
#include <vector>

#include "hardware/memory/dram/command.hpp"
#include "hardware/memory/dram/config.hpp"

namespace qfs::dram {

/// Which commands a rule holds for, seen from the bank of the earlier one.
enum class Scope {
  bank,
  bankgroup,
  stack,
  other_stacks,  // of the same rank
  rank,
  other_ranks,  // of the same pseudo-channel
  pseudochannel
};

/// From the first slot of one command to the first slot of the other. With a window of n the rule
/// counts from the n-th last.
struct Rule {
  Command from{};
  Command to{};
  Scope scope{};
  Tick ticks = 0;
  std::size_t window = 1;
};

/// Slots that a command takes on its bus.
Tick bus_ticks(const Timing& timing, Command command);

/// Standards count from the end of a command; a command of several slots is recorded at its first.
/// Hence each time is lengthened by the further slots of `from` and shortened by those of `to`.
/// Sources: JESD79-4, JESD79-5, JESD209-5, JESD235, JESD238, JESD250, in the form in which
/// Ramulator 2.1 states them (python/ramulator/dram/*.py, c5b1c3a).
std::vector<Rule> timing_rules(const DramConfig& config);

}  // namespace qfs::dram
