// The bursts of one channel, in the order in which its controller is offered them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hardware/memory/dram/address_map.hpp"
#include "hardware/memory/dram/command.hpp"
#include "hardware/memory/dram/transaction.hpp"

namespace qfs::dram {

/// A transaction as the channels see it, and how far it has come.
struct Progress {
  Transaction transaction;
  Tick arrival = 0;
  std::uint64_t bursts_left = 0;
  Tick end = 0;                // of the last burst so far
  double bursts_of_piece = 0;  // of one channel, on average: for models that leave some out
};

/// Transactions by stream, each in its order.
struct Offered {
  std::vector<Progress> transactions;
  std::vector<std::vector<std::uint32_t>> streams;
};

struct Burst {
  std::uint64_t number = 0;
  std::uint32_t transaction = 0;
  Direction direction = Direction::read;
};

class BurstFeed {
 public:
  BurstFeed(const AddressMap& map, std::uint64_t burst_bytes, std::uint32_t channel)
      : map_(map), burst_bytes_(burst_bytes), channel_(channel) {}

  /// Has to be told of new transactions.
  void offer(const Offered& offered);

  /// Takes the next burst of a direction that `allows`, of a stream that has arrived; streams take
  /// turns. A stream whose next burst is not allowed waits. If there is none, next_arrival() says
  /// when another stream will have arrived.
  template <class Allows>
  bool take(const Offered& offered, Tick now, Allows&& allows, Burst& burst) {
    next_arrival_ = never;
    const std::size_t streams = cursors_.size();
    std::size_t stream = last_;
    for (std::size_t i = 0; i < streams; ++i) {
      stream = stream + 1 < streams ? stream + 1 : 0;
      Cursor& cursor = cursors_[stream];
      if (!cursor.has_next) {
        continue;
      }
      if (cursor.arrival > now) {
        next_arrival_ = std::min(next_arrival_, cursor.arrival);
        continue;
      }
      if (allows(cursor.next.direction)) {
        last_ = stream;
        burst = cursor.next;
        step(offered, stream);
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] Tick next_arrival() const { return next_arrival_; }

  // For models that leave out what repeats itself.
  [[nodiscard]] std::size_t streams() const { return cursors_.size(); }
  /// Whether the stream has a burst to give, and its transaction has arrived.
  [[nodiscard]] bool is_active(std::size_t stream, Tick now) const {
    return cursors_[stream].has_next && cursors_[stream].arrival <= now;
  }
  [[nodiscard]] bool is_exhausted() const;
  /// The earliest arrival after `now`.
  [[nodiscard]] Tick arrival_after(Tick now) const;
  /// The stream's next burst; it has one.
  [[nodiscard]] const Burst& next(std::size_t stream) const { return cursors_[stream].next; }
  /// The piece of its transaction in which that lies.
  [[nodiscard]] std::uint64_t piece(std::size_t stream) const { return cursors_[stream].piece - 1; }
  /// Bursts of the channel that were given of that piece.
  [[nodiscard]] double given_of_piece(const Offered& offered, std::size_t stream) const {
    const Cursor& cursor = cursors_[stream];
    return offered.transactions[cursor.next.transaction].bursts_of_piece -
           static_cast<double>(left_of_piece(cursor));
  }
  /// Bursts of the channel in a piece of a transaction, on average over many.
  [[nodiscard]] double bursts_of_piece(const Transaction& transaction) const;
  /// Bursts of the channel in a transaction, and what the one that an active stream is at has left.
  [[nodiscard]] double bursts_of(const Progress& progress) const;
  [[nodiscard]] double left(const Offered& offered, std::size_t stream) const;
  /// The most bursts that any transaction has left that is not behind.
  [[nodiscard]] double most_left(const Offered& offered) const;
  /// The stream's transaction, counted in its order, and the end of the piece that it is at.
  [[nodiscard]] std::size_t transaction(std::size_t stream) const {
    return cursors_[stream].transaction;
  }
  [[nodiscard]] std::uint64_t past(std::size_t stream) const { return cursors_[stream].past; }
  [[nodiscard]] bool has_next(std::size_t stream) const { return cursors_[stream].has_next; }
  [[nodiscard]] Tick arrival(std::size_t stream) const { return cursors_[stream].arrival; }
  /// The stream that was taken from last.
  [[nodiscard]] std::size_t last() const { return last_; }
  /// Gives a stream's next bursts to nobody but `look`, a function of their numbers.
  template <class Look>
  void drop(const Offered& offered, std::size_t stream, std::uint64_t bursts, Look&& look) {
    last_ = stream;
    for (; bursts > 0 && cursors_[stream].has_next; --bursts) {
      look(cursors_[stream].next.number);
      step(offered, stream);
    }
  }
  /// Gives all to nobody, to a stream last.
  void drop_all(const Offered& offered, std::size_t last);
  /// Leaves out that many bursts of the channel, fewer than are left.
  void skip(const Offered& offered, std::size_t stream, double bursts);
  /// Forgets the transactions that each stream has behind it.
  void forget_given(Offered& offered);
  /// Stands for another channel, which is offered the same but for the channel.
  void renumber(const Offered& offered, std::uint32_t channel);

 private:
  struct Cursor {
    Burst next;
    Tick arrival = 0;
    bool has_next = false;
    std::uint64_t past = 0;       // the end of the piece that `next` lies in
    std::uint64_t piece = 0;      // of the transaction, the next to be looked at
    std::size_t transaction = 0;  // within its stream
  };
  /// To the next burst of the stream.
  void step(const Offered& offered, std::size_t stream) {
    Cursor& cursor = cursors_[stream];
    cursor.next.number = map_.next_of_channel(cursor.next.number + 1, channel_);
    if (cursor.next.number >= cursor.past) {
      next_piece(offered, stream);
    }
  }
  void next_piece(const Offered& offered, std::size_t stream);
  [[nodiscard]] std::uint64_t bursts_of_piece(const Transaction& transaction,
                                              std::uint64_t piece) const;
  [[nodiscard]] std::uint64_t left_of_piece(const Cursor& cursor) const {
    return map_.rank_in(channel_, cursor.past) - map_.rank_in(channel_, cursor.next.number);
  }

  AddressMap map_;
  std::uint64_t burst_bytes_;
  std::uint32_t channel_;
  std::size_t last_ = 0;  // the stream that was taken from
  Tick next_arrival_ = never;
  std::vector<Cursor> cursors_;  // by stream
};

}  // namespace qfs::dram
