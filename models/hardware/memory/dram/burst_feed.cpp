#include "hardware/memory/dram/burst_feed.hpp"

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

}  // namespace qfs::dram
