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
  Tick end = 0;  // of the last burst so far
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

  AddressMap map_;
  std::uint64_t burst_bytes_;
  std::uint32_t channel_;
  std::size_t last_ = 0;  // the stream that was taken from
  Tick next_arrival_ = never;
  std::vector<Cursor> cursors_;  // by stream
};

}  // namespace qfs::dram
