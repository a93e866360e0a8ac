#include "hardware/memory/dram/burst_feed.hpp"

#include <cmath>

namespace qfs::dram {

void BurstFeed::offer(const Offered& offered) {
  cursors_.resize(offered.streams.size());
  for (std::size_t stream = 0; stream < cursors_.size(); ++stream) {
    if (!cursors_[stream].has_next) {
      next_piece(offered, stream);
    }
  }
}

void BurstFeed::next_piece(const Offered& offered, std::size_t stream) {
  const std::vector<std::uint32_t>& order = offered.streams[stream];
  Cursor& cursor = cursors_[stream];
  for (; cursor.transaction < order.size(); ++cursor.transaction, cursor.piece = 0) {
    const std::uint32_t id = order[cursor.transaction];
    const Progress& progress = offered.transactions[id];
    const Transaction& transaction = progress.transaction;
    const std::uint64_t pieces = transaction.pieces();
    while (cursor.piece < pieces) {
      const std::uint64_t address = transaction.piece_address(cursor.piece);
      const std::uint64_t bytes = transaction.piece_bytes(cursor.piece);
      ++cursor.piece;
      cursor.past = (address + bytes - 1) / burst_bytes_ + 1;
      const std::uint64_t number = map_.next_of_channel(address / burst_bytes_, channel_);
      if (number < cursor.past) {
        cursor.next = {number, id, transaction.direction};
        cursor.arrival = progress.arrival;
        cursor.has_next = true;
        return;
      }
    }
  }
  cursor.has_next = false;
}

bool BurstFeed::is_exhausted() const {
  return std::none_of(cursors_.begin(), cursors_.end(),
                      [](const Cursor& cursor) { return cursor.has_next; });
}

Tick BurstFeed::arrival_after(Tick now) const {
  Tick next = never;
  for (const Cursor& cursor : cursors_) {
    if (cursor.has_next && cursor.arrival > now) {
      next = std::min(next, cursor.arrival);
    }
  }
  return next;
}

std::uint64_t BurstFeed::bursts_of_piece(const Transaction& transaction,
                                         std::uint64_t piece) const {
  const std::uint64_t at = transaction.piece_address(piece);
  const std::uint64_t past = (at + transaction.piece_bytes(piece) - 1) / burst_bytes_ + 1;
  return map_.rank_in(channel_, past) - map_.rank_in(channel_, at / burst_bytes_);
}

double BurstFeed::bursts_of_piece(const Transaction& transaction) const {
  constexpr std::uint64_t most = 256;
  const std::uint64_t pieces = transaction.pieces();
  const bool all_alike = transaction.piece_step() % (map_.bursts_of_stripe() * burst_bytes_) == 0;
  const std::uint64_t full = pieces > 1 ? pieces - 1 : pieces;  // the last may be short
  const std::uint64_t looked_at = std::min(full, all_alike ? 2 : most);
  std::uint64_t bursts = 0;
  for (std::uint64_t i = 0; i < looked_at; ++i) {
    bursts += bursts_of_piece(transaction, i);
  }
  return static_cast<double>(bursts) / static_cast<double>(std::max<std::uint64_t>(looked_at, 1));
}

double BurstFeed::bursts_of(const Progress& progress) const {
  const Transaction& transaction = progress.transaction;
  const std::uint64_t pieces = transaction.pieces();
  if (pieces == 0) {
    return 0;
  }
  return static_cast<double>(pieces - 1) * progress.bursts_of_piece +
         static_cast<double>(bursts_of_piece(transaction, pieces - 1));  // which may be short
}

double BurstFeed::left(const Offered& offered, std::size_t stream) const {
  const Cursor& cursor = cursors_[stream];
  const Progress& progress = offered.transactions[cursor.next.transaction];
  const std::uint64_t pieces = progress.transaction.pieces();
  const auto here = static_cast<double>(left_of_piece(cursor));
  if (cursor.piece == pieces) {
    return here;
  }
  return here + static_cast<double>(pieces - 1 - cursor.piece) * progress.bursts_of_piece +
         static_cast<double>(bursts_of_piece(progress.transaction, pieces - 1));
}

double BurstFeed::most_left(const Offered& offered) const {
  double most = 0;
  for (std::size_t stream = 0; stream < cursors_.size(); ++stream) {
    if (!cursors_[stream].has_next) {
      continue;
    }
    most = std::max(most, left(offered, stream));
    const std::vector<std::uint32_t>& order = offered.streams[stream];
    for (std::size_t i = cursors_[stream].transaction + 1; i < order.size(); ++i) {
      most = std::max(most, bursts_of(offered.transactions[order[i]]));
    }
  }
  return most;
}

void BurstFeed::skip(const Offered& offered, std::size_t stream, double bursts) {
  Cursor& cursor = cursors_[stream];
  const double of_piece = offered.transactions[cursor.next.transaction].bursts_of_piece;
  const auto here = static_cast<double>(left_of_piece(cursor));
  if (bursts >= here) {  // into a later piece
    bursts -= here;
    if (of_piece > 0) {
      const double pieces = std::floor(bursts / of_piece);
      cursor.piece += static_cast<std::uint64_t>(pieces);
      bursts -= pieces * of_piece;
    }
    next_piece(offered, stream);
    if (!cursor.has_next) {
      return;
    }
  }
  const std::uint64_t rank = map_.rank_in(channel_, cursor.next.number);
  cursor.next.number = map_.burst_of(channel_, rank + static_cast<std::uint64_t>(bursts));
  if (cursor.next.number >= cursor.past) {
    next_piece(offered, stream);
  }
}

void BurstFeed::drop_all(const Offered& offered, std::size_t last) {
  for (std::size_t stream = 0; stream < cursors_.size(); ++stream) {
    cursors_[stream].transaction = offered.streams[stream].size();
    cursors_[stream].piece = 0;
    cursors_[stream].has_next = false;
  }
  last_ = last;
}

void BurstFeed::forget_given(Offered& offered) {
  for (std::size_t stream = 0; stream < cursors_.size(); ++stream) {
    std::vector<std::uint32_t>& order = offered.streams[stream];
    order.erase(order.begin(),
                order.begin() + static_cast<std::ptrdiff_t>(cursors_[stream].transaction));
    cursors_[stream].transaction = 0;
  }
}

void BurstFeed::renumber(const Offered& offered, std::uint32_t channel) {
  for (Cursor& cursor : cursors_) {
    if (cursor.has_next) {
      const std::uint64_t rank = map_.rank_in(channel_, cursor.next.number);
      cursor.next.number = map_.burst_of(channel, rank);
    }
  }
  channel_ = channel;
  for (std::size_t stream = 0; stream < cursors_.size(); ++stream) {
    if (cursors_[stream].has_next && cursors_[stream].next.number >= cursors_[stream].past) {
      next_piece(offered, stream);
    }
  }
}

}  // namespace qfs::dram
