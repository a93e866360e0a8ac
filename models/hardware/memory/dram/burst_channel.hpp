// One channel of the command-level model: a controller with a bounded queue, first-ready
// first-come-first-served, and the banks behind it.
//
// At each instant it issues, per command bus, the first of these that the rules allow:
//   1. the access for which a row was opened, oldest first;
//   2. the refresh that is due, and the precharge that it needs: while an all-bank refresh is owed
//      nothing of 3 is issued on the channel, while a refresh of one bank is, nothing to that bank;
//   3. the next command (access, activate or precharge) of a queued request, oldest first; a row
//      is not closed before the access of 1 is served.
// Reads go before writes until write_drain_from writes wait or no reads do; then writes go until
// write_drain_to are left. A served or activated request leaves its place in the queue to the next
// one, which can be considered at the next tick. (The order of Ramulator 2.1's controllers.)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/memory/dram/burst_feed.hpp"
#include "hardware/memory/dram/earliest_times.hpp"
#include "hardware/memory/dram/refresh_duty.hpp"
#include "hardware/memory/dram/request_queue.hpp"

namespace qfs::dram {

class BurstChannel {
 public:
  BurstChannel(const DramConfig& config, std::uint32_t number);

  /// Issues what can be issued up to and including `limit`; with limit `never`, until all bursts
  /// are served. Ends are written into `offered`. Every command goes to `trace`, if there is one.
  void advance(Offered& offered, Tick limit, std::vector<IssuedCommand>* trace);

  [[nodiscard]] const Counters& counters() const { return counters_; }

  // For models that leave out what repeats itself (stream_channel.hpp).
  [[nodiscard]] Tick now() const { return now_; }
  [[nodiscard]] const BurstFeed& feed() const { return feed_; }
  [[nodiscard]] BurstFeed& feed() { return feed_; }
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] bool owes_refresh() const { return refresh_.is_owed(); }
  [[nodiscard]] Tick next_refresh() const { return refresh_.due(); }
  [[nodiscard]] std::uint32_t banks_open() const { return banks_open_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint64_t burst_bytes() const { return config_.organisation.burst_bytes(); }
  [[nodiscard]] std::uint32_t banks() const {
    return static_cast<std::uint32_t>(config_.organisation.banks_of_channel());
  }
  /// Requests of a transaction that were taken and are not served.
  [[nodiscard]] std::uint64_t waiting(std::uint32_t transaction) const {
    return queue_.waiting(transaction);
  }
  [[nodiscard]] bool has_others(std::span<const std::uint32_t> transactions,
                                const RequestQueue::Others& which) const {
    return queue_.has_others(transactions, which);
  }
  void reset_counters() { counters_ = {}; }
  void count(const Counters& more) { counters_ += more; }
  [[nodiscard]] std::size_t queued(Direction direction) const { return queue_.size(direction); }
  /// When the last refresh was issued.
  [[nodiscard]] Tick refreshed() const { return refreshed_; }
  [[nodiscard]] std::uint32_t open_row(std::uint32_t bank) const { return queue_.open_row(bank); }
  [[nodiscard]] std::vector<std::uint32_t> open_rows() const { return queue_.open_rows(); }
  /// Writes go before reads at the moment.
  [[nodiscard]] bool drains_writes() const { return drains_writes_; }
  void drain_writes(bool drains) { drains_writes_ = drains; }
  /// Of a channel without requests, by bank.
  void set_open_rows(std::span<const std::uint32_t> rows);
  /// What a channel without requests remembers of what it did, but for its rows.
  struct Aftermath {
    EarliestTimes times;
    std::array<Tick, 2> bus_free{};
    Tick now = 0;
    Tick data_clock_until = 0;
    bool drains_writes = false;
    bool fill_deferred = false;
  };
  [[nodiscard]] Aftermath aftermath() const {
    return {times_, bus_free_, now_, data_clock_until_, drains_writes_, fill_deferred_};
  }
  /// As if the same had been done that much later than there.
  void resume(const Aftermath& aftermath, Tick later);
  /// All of the aftermath that matters from `at` on, if writes come or only reads.
  void note_aftermath(Tick at, bool writes, std::vector<std::uint64_t>& notes) const;
  void renumber(const Offered& offered, std::uint32_t channel);
  /// From an access to the end of its data.
  [[nodiscard]] Tick data_end(Direction direction) const {
    return direction == Direction::read ? read_end_ : write_end_;
  }
  void stop_refreshes() { refresh_.stop(); }
  /// Of a channel without requests: rows that the stream's next bursts need are open, as if they
  /// had been looked at in time.
  void open_ahead(const Offered& offered, std::size_t stream, std::uint64_t bursts);
  struct Seam {
    Tick to = 0;
    bool rows_closed = false;
    std::uint64_t pretended = 0;
  };
  /// Goes to a later instant as if all until then had happened: no command keeps another waiting,
  /// refreshes are done (none is owed), requests of the transactions `served` are; rows stay open
  /// or have been closed. Then so many bursts are taken as if served in no time: their rows are
  /// open.
  void go_to(const Offered& offered, const Seam& seam, std::span<const std::uint32_t> served);

 private:
  /// A command that could be next: the earliest wins, then the one of the lowest key.
  struct Choice {
    Tick tick = never;
    std::int64_t key = 0;
    std::int32_t request = nobody;
    std::uint32_t bank = 0;
    Command command{};

    void consider(Tick other_tick, std::int64_t class_key, Command other_command,
                  const Candidate& other) {
      const std::int64_t other_key = class_key + other.order;
      if (other_tick < tick || (other_tick == tick && other_key < key)) {
        *this = {other_tick, other_key, other.request, other.bank, other_command};
      }
    }
  };

  /// Issues one command, or moves time to where one may become possible; false if nothing happens
  /// up to `limit`.
  bool step(Offered& offered, Tick limit);
  void count_open();
  void pretend(const Offered& offered, std::uint64_t bursts, std::span<const std::uint32_t> served);
  void pretend_runs(const Offered& offered, std::size_t stream, std::uint64_t bursts);
  void fill(const Offered& offered);
  void skip_idle_refreshes(Tick limit);
  void choose();
  void consider_refresh();
  void consider_hits(Direction direction);
  void consider_misses(Direction direction);
  void expect_hit(Direction direction, std::uint32_t bank);
  void expect_miss(Direction direction, std::uint32_t bank);
  Direction direction_in_turn();

  void issue_column(Offered& offered, Choice choice);
  void issue_row(const Choice& choice);
  void issue_refresh(const Choice& choice);
  bool start_data_clock(Choice& choice);
  void close_behind(std::uint32_t bank, Tick tick);
  void close_bank(std::uint32_t bank);
  void issue_second_half();
  void put_on_bus(Command command, std::uint32_t bank, std::uint32_t row, Tick tick);
  void record(Command command, std::uint32_t bank, std::uint32_t row, Tick tick, bool implied);

  [[nodiscard]] std::size_t bus_of(Command command) const {
    return row_bus_ && !is_column(command) ? 1 : 0;
  }
  [[nodiscard]] Tick legal(Command command, std::uint32_t bank) const {
    const Tick tick = std::max({now_, bus_free_[bus_of(command)], times_.of(command, bank)});
    const bool any_edge = command == Command::precharge || command == Command::precharge_all;
    return any_edge ? tick : on_edge(tick);
  }
  [[nodiscard]] Tick on_edge(Tick tick) const { return (tick + edge_) & ~edge_; }

  DramConfig config_;
  std::uint32_t number_;
  AddressMap map_;
  BurstFeed feed_;
  RequestQueue queue_;
  EarliestTimes times_;
  RefreshDuty refresh_;
  Counters counters_;

  Tick now_ = 0;
  Tick edge_ = 0;  // ticks_per_clock - 1
  bool row_bus_ = false;
  std::array<Tick, 2> bus_free_{};
  std::array<Choice, 2> choice_;  // by bus
  // By direction: no candidate is legal earlier, barred or not, so that none need be looked at.
  // Legal ticks only rise, but for those of new candidates.
  std::array<Tick, 2> hits_from_{};
  std::array<Tick, 2> misses_from_{};
  bool places_freed_ = true;    // since the queue was filled
  bool fill_deferred_ = false;  // to the next tick
  bool drains_writes_ = false;
  std::vector<std::uint16_t> open_banks_;  // by rank
  std::vector<std::uint16_t> aside_;       // requests that wait aside, by rank
  std::uint32_t banks_open_ = 0;
  Tick refreshed_ = -never;

  Tick second_from_ = never;  // second half of an activate under way
  Tick second_deadline_ = never;
  std::uint32_t second_bank_ = 0;
  Tick data_clock_until_ = 0;
  Tick read_end_ = 0;  // from the command to the end of its data
  Tick write_end_ = 0;
  std::array<Tick, command_count> bus_ticks_{};
  std::vector<IssuedCommand>* trace_ = nullptr;
};

}  // namespace qfs::dram
