// The fast model of a memory: transactions in, their ends out, at a cost that does not depend on
// their length. Plain values, no kernel; a copy is a checkpoint.
//
// Channels on which transactions do the same are simulated as one, which leaves out what repeats
// itself (stream_channel.hpp). How like transactions begin and end is remembered, as layers repeat
// their launches. Exact, to the tick and to the command, as BurstMemory: transactions
// of up to a hundred bursts a channel and more, whatever is in flight beside them. Approximated:
// what lies between the beginning and the end of long ones, and that channels which get one burst
// more or less of them than others, or hold other rows, are alike. Where a few nanoseconds decide
// whether one more refresh is met, that may come out either way.
//
// Against BurstMemory (tests/dram/stream.cpp prints the tables; lengths to 64 MiB) the median
// deviation is below 0.1 %. Of reads and writes of 64 KiB and more in sequence 99 of 100 are within
// 0.1 to 1 %, the others off by that refresh. Streams that fight for banks look for their pace for
// ten refresh intervals and more under the command-level model: 99 of 100 are within 1 to 4 %, by
// standard, single ones off by up to 16 %. Activates are right by 1 % on average, by up to a half
// for a single short read.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "hardware/memory/dram/burst_memory.hpp"
#include "hardware/memory/dram/stream_channel.hpp"

namespace qfs::dram {

class StreamMemory {
 public:
  explicit StreamMemory(const DramConfig& config);
  /// With a book of that configuration to look rates up in, and to note them.
  StreamMemory(const DramConfig& config, std::shared_ptr<RateBook> book);

  /// Gives a transaction to the memory; numbers count from 0. It may not arrive before the instant
  /// to which the memory has run. length >= 0, piece >= 1.
  std::size_t start(const Transaction& transaction);
  /// Time has come so far: what ends before is final.
  void run_until(Femtoseconds time);
  /// Until all transactions are done.
  void run();

  /// Time of the last beat of a transaction's data as things stand: it changes when another
  /// transaction is started, never to before the instant run to. Always known.
  [[nodiscard]] std::optional<Femtoseconds> end(std::size_t transaction) const;
  [[nodiscard]] Femtoseconds lookahead() const { return to_femtoseconds(Seconds(1)); }
  /// Bursts are exact; of transactions under way, in proportion to time. Row commands and refreshes
  /// are estimated from what was simulated.
  [[nodiscard]] Counters counters() const;

  [[nodiscard]] const DramConfig& config() const { return config_; }
  /// Kinds of mixes measured so far, by this memory and its copies.
  [[nodiscard]] std::size_t measured() const { return book_->measured(); }

 private:
  struct Flight {
    std::size_t id = 0;
    std::uint32_t number = 0;  // in the channel
    bool is_long = false;
    std::uint64_t signature = 0;  // of what it does; 0 if that may differ a little
    friend bool operator==(const Flight&, const Flight&) = default;
  };
  /// Channels that do the same.
  struct Group {
    std::vector<std::uint32_t> channels;
    StreamChannel now;                   // run as far as the memory
    std::optional<StreamChannel> ahead;  // run to the end of all transactions, if `is_ahead`
    bool is_ahead = false;
    Tick last_end = 0;  // then
    std::vector<Flight> flights;
  };
  struct Record {
    Tick arrival = 0;
    Tick end = 0;
    std::uint64_t bursts = 0;
    Direction direction = Direction::read;
    std::size_t stream = 0;
    bool is_final = false;
  };
  /// What a transaction does on a channel.
  struct Touch {
    std::uint32_t channel = 0;
    std::uint64_t bursts = 0;
    std::uint64_t signature = 0;
  };

  [[nodiscard]] std::vector<Touch> touches_of(const Transaction& transaction) const;
  [[nodiscard]] bool is_behind_long(std::size_t stream) const;
  [[nodiscard]] bool can_wait(const Group& group, const Transaction& transaction,
                              std::uint64_t bursts) const;
  void catch_up(Group& group);
  void look_ahead() const;
  void finish_ended();
  std::size_t split(std::size_t group, const std::vector<std::uint32_t>& channels);
  void give(const Transaction& transaction, std::size_t id, const std::vector<Touch>& alike,
            bool is_long, bool is_lenient);

  DramConfig config_;
  TickClock clock_;
  AddressMap map_;
  std::shared_ptr<RateBook> book_;
  mutable std::vector<Group> groups_;
  mutable std::vector<Record> records_;
  std::vector<std::size_t> in_flight_;
  mutable bool is_ahead_ = true;
  Counters before_;  // of groups as they were before channels changed groups, but for bursts
  Tick run_to_ = 0;
};

/// All transactions from a fresh memory with all banks closed.
BurstRun run_streams(const DramConfig& config, std::span<const Transaction> transactions);

}  // namespace qfs::dram
