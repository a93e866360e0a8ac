// The command-level model of a memory: the reference that the faster tiers are held against. Plain
// values, no kernel; a copy is a checkpoint.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "hardware/memory/dram/burst_channel.hpp"
#include "hardware/memory/dram/tick_clock.hpp"

namespace qfs::dram {

class BurstMemory {
 public:
  explicit BurstMemory(const DramConfig& config);

  /// Gives a transaction to the memory; numbers count from 0. It may not arrive before the instant
  /// to which the memory has run. length >= 0, piece >= 1.
  std::size_t start(const Transaction& transaction);

  /// Issues what can be issued before an instant, refreshes too.
  void run_until(Femtoseconds time);
  /// Runs until all transactions are done: to the last beat of the last.
  void run();

  /// Time of the last beat of a transaction's data: known once its last access has been issued.
  [[nodiscard]] std::optional<Femtoseconds> end(std::size_t transaction) const;
  /// The same in ticks.
  [[nodiscard]] Tick end_tick(std::size_t transaction) const {
    return offered_.transactions[transaction].end;
  }
  [[nodiscard]] Counters counters() const;
  /// Share of the data buses' time in [0, until) that moved data.
  [[nodiscard]] double bus_share(Femtoseconds until) const;

  /// The end of a transaction is known at least so long before it comes: an access is issued before
  /// its data moves.
  [[nodiscard]] Femtoseconds lookahead() const;
  [[nodiscard]] const DramConfig& config() const { return config_; }
  [[nodiscard]] Seconds tick() const { return clock_.tick(); }
  /// Every further command of every channel is appended, channel by channel; null ends it. Copies
  /// of the memory share the list.
  void trace_to(std::vector<IssuedCommand>* trace) { trace_ = trace; }

 private:
  void advance(Tick limit);

  DramConfig config_;
  TickClock clock_;
  Offered offered_;
  std::vector<BurstChannel> channels_;
  std::vector<IssuedCommand>* trace_ = nullptr;
  Tick run_to_ = 0;
};

struct BurstRun {
  std::vector<Femtoseconds> ends;  // of the transactions in their order
  Femtoseconds end;                // of the last
  Counters counters;
};

/// All transactions from a fresh memory with all banks closed.
BurstRun run_bursts(const DramConfig& config, std::span<const Transaction> transactions);

}  // namespace qfs::dram
