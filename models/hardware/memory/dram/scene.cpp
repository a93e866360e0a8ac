#include "hardware/memory/dram/scene.hpp"

#include <algorithm>
#include <cassert>

namespace qfs::dram {
namespace {

constexpr std::size_t most_rows = 64;  // places that are told

}  // namespace

Scene::Scene(const BurstChannel& channel, const AddressMap& map, const Offered& offered, Tick at)
    : map_(map), burst_bytes_(channel.burst_bytes()), is_plain_(map.has_stripes()) {
  const BurstFeed& feed = channel.feed();
  std::size_t streams = 0;
  for (std::size_t stream = 0; stream < feed.streams(); ++stream) {
    if (!feed.has_next(stream)) {
      continue;
    }
    ++streams;
    const std::vector<std::uint32_t>& order = offered.streams[stream];
    const std::size_t current = feed.transaction(stream);
    notes_.insert(notes_.end(), {stream, order.size() - current});
    tell_current(offered.transactions[order[current]].transaction, feed, stream);
    for (std::size_t i = current + 1; i < order.size(); ++i) {
      tell_whole(offered.transactions[order[i]].transaction);
    }
    transactions_.insert(transactions_.end(), order.begin() + static_cast<std::ptrdiff_t>(current),
                         order.end());
  }
  notes_.push_back(streams > 1 ? feed.last() : 0);
  tell_state(channel, at);
}

Scene::Scene(const BurstChannel& channel, const AddressMap& map, const Offered& offered, Tick at,
             std::size_t stream, std::uint64_t reach)
    : map_(map), burst_bytes_(channel.burst_bytes()), reach_(reach), is_plain_(map.has_stripes()) {
  transactions_.push_back(channel.feed().next(stream).transaction);
  tell_current(offered.transactions[transactions_.front()].transaction, channel.feed(), stream);
  tell_state(channel, at);
}

void Scene::tell_kind(const Transaction& transaction) {
  has_writes_ = has_writes_ || transaction.direction == Direction::write;
  notes_.push_back((transaction.direction == Direction::write ? 2U : 1U) +
                   (transaction.is_contiguous() ? 0U : 4U));
}

/// The rest of a piece, and the pieces after it.
void Scene::tell_current(const Transaction& transaction, const BurstFeed& feed,
                         std::size_t stream) {
  tell_kind(transaction);
  const std::uint64_t number = feed.next(stream).number;
  const std::uint64_t bursts = std::min(feed.past(stream) - number, reach_);
  notes_.push_back(number % map_.bursts_of_stripe());
  notes_.push_back(bursts);
  tell_rows(number, bursts);
  if (!transaction.is_contiguous()) {
    tell_pieces(transaction, feed.piece(stream) + 1);
  }
}

void Scene::tell_whole(const Transaction& transaction) {
  tell_kind(transaction);
  const auto bytes = static_cast<std::uint64_t>(transaction.length.value());
  if (!transaction.is_contiguous()) {
    tell_pieces(transaction, 0);
  } else if (bytes > 0) {
    const std::uint64_t bursts =
        std::min(bursts_touched(transaction.address, bytes, burst_bytes_), reach_);
    notes_.push_back(transaction.address / burst_bytes_ % map_.bursts_of_stripe());
    notes_.push_back(bursts);
    tell_rows(transaction.address / burst_bytes_, bursts);
  }
}

/// All from a piece on, or as many as matter.
void Scene::tell_pieces(const Transaction& transaction, std::uint64_t from) {
  const std::uint64_t halves = transaction.alternates ? 2 : 1;
  const std::uint64_t step = transaction.piece_step();
  const std::uint64_t all = transaction.pieces() - std::min(from, transaction.pieces());
  const std::uint64_t in_reach =
      reach_ / std::max<std::uint64_t>(1, transaction.piece / burst_bytes_);
  const std::uint64_t count = std::min(all, in_reach + 2 * halves);
  notes_.insert(notes_.end(), {count, transaction.piece, step, halves});
  if (count == 0) {
    return;
  }
  notes_.push_back(count == all ? transaction.piece_bytes(transaction.pieces() - 1) : 0);
  const bool is_scattered = transaction.stride > 0;
  if (is_scattered && count > most_rows) {
    is_plain_ = false;
    return;
  }
  for (std::uint64_t i = from; i < from + std::min(halves, count); ++i) {
    const std::uint64_t address = transaction.piece_address(i);
    notes_.push_back(address % (map_.bursts_of_stripe() * burst_bytes_));
    const std::uint64_t of_half = (from + count - i + halves - 1) / halves;
    if (!is_scattered) {
      tell_rows(address / burst_bytes_,
                bursts_touched(address, of_half * transaction.piece, burst_bytes_));
    }
    for (std::uint64_t k = 0; is_scattered && k < of_half; ++k) {
      tell_rows((address + k * step) / burst_bytes_,
                bursts_touched(address + k * step, transaction.piece, burst_bytes_));
    }
  }
}

/// Rows that others come to as well are told as seen from those.
void Scene::tell_rows(std::uint64_t first_burst, std::uint64_t bursts) {
  const std::uint64_t first = first_burst / map_.bursts_of_stripe();
  const std::uint64_t last = (first_burst + bursts - 1) / map_.bursts_of_stripe();
  const Rows rows{first, last - first + 1};
  const std::uint64_t mask = map_.rows() - 1;
  is_plain_ = is_plain_ && rows.count < map_.rows() / 2;
  notes_.push_back(rows.count);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::uint64_t above = (rows.first - rows_[i].first) & mask;
    const std::uint64_t below = (rows_[i].first - rows.first) & mask;
    if (above < rows_[i].count || below < rows.count) {
      notes_.push_back(i + 1);
      notes_.push_back(above);
    }
  }
  notes_.push_back(0);
  rows_.push_back(rows);
}

void Scene::tell_state(const BurstChannel& channel, Tick at) {
  notes_.push_back(channel.number());
  for (std::uint32_t bank = 0; bank < channel.banks(); ++bank) {
    const Name name = name_of(channel.open_row(bank));
    if (name != another_row) {
      notes_.push_back(bank + 1);
      notes_.push_back(name);
    }
  }
  notes_.push_back(0);
  channel.note_aftermath(at, has_writes_, notes_);
}

Scene::Name Scene::name_of(std::uint32_t row) const {
  if (row == no_row) {
    return 0;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::uint64_t above = (row - rows_[i].first) & (map_.rows() - 1);
    if (above < rows_[i].count) {
      return ((i + 1) << 32U) + (above << 1U);
    }
  }
  return another_row;
}

std::uint32_t Scene::row_of(Name name) const {
  assert(name != another_row);
  if (name == 0) {
    return no_row;
  }
  const Rows& rows = rows_[(name >> 32U) - 1];
  return static_cast<std::uint32_t>((rows.first + ((name & 0xFFFFFFFFU) >> 1U)) &
                                    (map_.rows() - 1));
}

}  // namespace qfs::dram
