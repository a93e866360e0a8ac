// When each command is next legal, by the rules and the commands issued so far.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "hardware/memory/dram/command.hpp"
#include "hardware/memory/dram/rules.hpp"

namespace qfs::dram {

/// Of one channel. Four levels are kept, the bank, its bank group, its stack and its rank, and of a
/// command to a bank the latest counts. Wider scopes are rules of several ranks or stacks.
class EarliestTimes {
 public:
  explicit EarliestTimes(const DramConfig& config);

  /// Of a command to a bank; a command to a rank is asked of its first bank.
  [[nodiscard]] Tick of(Command command, std::uint32_t bank) const {
    const std::size_t c = index_of(command);
    const Tick tick = std::max({bank_.at[(c << bank_.bits) + bank],
                                group_.at[(c << group_.bits) + (bank >> group_.shift)],
                                rank_.at[(c << rank_.bits) + (bank >> rank_.shift)]});
    return has_stacks_ ? std::max(tick, stack_.at[(c << stack_.bits) + (bank >> stack_.shift)])
                       : tick;
  }
  /// No command of the kind to any bank is legal earlier.
  [[nodiscard]] Tick floor(Command command) const {
    const Tick* first = rank_.at.data() + (index_of(command) << rank_.bits);
    return *std::min_element(first, first + (std::size_t{1} << rank_.bits));
  }
  void issued(Command command, std::uint32_t bank, Tick tick);
  /// As if nothing had ever been issued.
  void forget();
  /// As if all had been issued that much later.
  void shift(Tick by);
  /// All on which ticks after `at` hang.
  void note(Tick at, std::vector<std::uint64_t>& notes) const;

  [[nodiscard]] std::uint32_t rank_of(std::uint32_t bank) const { return bank >> rank_.shift; }

 private:
  /// By command and unit: 2^bits units of the channel, the unit of a bank is bank >> shift.
  struct Level {
    unsigned bits = 0;
    unsigned shift = 0;
    std::vector<Tick> at;
  };
  struct Delay {
    std::size_t to = 0;  // where the waiting command's units begin
    Tick ticks = 0;
  };
  /// For the units beside one's own, within a block.
  struct SideDelay {
    std::size_t to = 0;
    Tick ticks = 0;
    unsigned block_bits = 0;
    bool of_stacks = false;  // or of ranks
    bool without_own = false;
  };
  struct Delays {
    std::vector<Delay> bank;
    std::vector<Delay> group;
    std::vector<Delay> stack;
    std::vector<Delay> rank;
    std::vector<SideDelay> side;
  };
  void add(const Rule& rule, Delays& delays);
  static void apply(const std::vector<Delay>& delays, Level& level, std::uint32_t bank, Tick tick) {
    const std::size_t unit = bank >> level.shift;
    for (const Delay& delay : delays) {
      Tick& at = level.at[delay.to + unit];
      at = std::max(at, tick + delay.ticks);
    }
  }
  void apply_side(const SideDelay& delay, std::uint32_t bank, Tick tick);
  void apply_window(std::uint32_t bank, Tick tick);

  Level bank_;
  Level group_;
  Level stack_;
  Level rank_;
  bool has_stacks_ = false;                                         // more than one of a rank
  unsigned ranks_bits_ = 0;                                         // of a pseudo-channel
  unsigned stacks_bits_ = 0;                                        // of a rank
  std::shared_ptr<const std::array<Delays, command_count>> after_;  // copies share it

  // The rule with a window: four activates of a rank.
  static constexpr std::size_t window = 4;
  Tick window_ticks_ = 0;
  std::vector<std::array<Tick, window>> last_activates_;  // by rank, as a ring
  std::vector<std::uint8_t> oldest_;
};

}  // namespace qfs::dram
