// The commands of a DRAM, and the record of one that was issued.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qfs::dram {

/// Time within the memory: ticks_per_clock of them are a clock.
using Tick = std::int64_t;
inline constexpr Tick never = std::int64_t{1} << 62U;

enum class Command : std::uint8_t {
  activate,
  read,
  write,
  precharge,
  precharge_all,  // of a rank
  refresh_all,    // of a rank
  refresh_bank,
  activate_second,  // second half of an activate (LPDDR5)
  start_data_clock  // before an access whose data clock has stopped (LPDDR5)
};
inline constexpr std::size_t command_count = 9;

constexpr bool is_column(Command command) {
  return command == Command::read || command == Command::write;
}
constexpr std::size_t index_of(Command command) { return static_cast<std::size_t>(command); }

/// As a logic analyser on the command bus would see it. `bank` counts through the channel; of a
/// command to a rank it is the rank's first.
struct IssuedCommand {
  Tick tick = 0;
  Command command{};
  std::uint32_t channel = 0;
  std::uint32_t bank = 0;
  std::uint32_t row = 0;
  bool implied = false;  // precharge that a column command carried along: no slot on the bus
};

}  // namespace qfs::dram
