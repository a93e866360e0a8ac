// How a channel of the stream tier serves a long transaction that nothing is beside: from its
// beginning to its last bursts at once.
#include <algorithm>
#include <cmath>
#include <utility>

#include "hardware/memory/dram/outlook.hpp"
#include "hardware/memory/dram/stream_channel.hpp"

namespace qfs::dram {
namespace {

// Times that it takes a channel to settle. Of two halves in turn the pace is known less well.
constexpr double least_of_lone_run = 6;
constexpr double least_of_lone_pieces = 64;

}  // namespace

/// Nothing of the stream's transaction has been taken.
bool StreamChannel::is_untouched(std::size_t stream) const {
  const BurstFeed& feed = channel_.feed();
  const Transaction& transaction = offered_.transactions[feed.next(stream).transaction].transaction;
  const std::uint64_t burst_bytes = config_.organisation.burst_bytes();
  for (std::uint64_t piece = 0; piece <= feed.piece(stream); ++piece) {
    const std::uint64_t at = transaction.piece_address(piece);
    const std::uint64_t first = map_.next_of_channel(at / burst_bytes, number_);
    if (first <= (at + transaction.piece_bytes(piece) - 1) / burst_bytes) {
      return piece == feed.piece(stream) && first == feed.next(stream).number;
    }
  }
  return false;
}

/// A long transaction of which nothing has been taken, while nothing else is there or to come
/// before its end; others may follow in its stream. Refreshes of single banks would each delay it
/// in their own way.
bool StreamChannel::is_lone() const {
  return config_.controller.refresh != RefreshMode::per_bank && active_.size() == 1 &&
         channel_.is_idle() && map_.has_stripes() && next_to_heed() == never &&
         is_untouched(active_.front());
}

/// So many that what is not exact about beginning and end does not show in the time from its
/// arrival.
double StreamChannel::least_of_lone() const {
  const Progress& progress = offered_.transactions[flowing_.front()];
  if (!progress.transaction.is_contiguous()) {
    return least_of_lone_pieces * settling_;
  }
  const double waited = static_cast<double>(at_ - progress.arrival) /
                        static_cast<double>(settling_ticks_) * settling_;
  return std::max(least_of_lone_run * settling_ - waited, settling_ + least_of_sequential);
}

/// As after a start with all banks closed, and later by what has to be closed.
Standing StreamChannel::start_by_rates() const {
  const double period = rates_->period;
  const double phase = period == 1 ? 0 : std::fmod(rank(), period);
  double later = rates_->course.ticks_from(phase, 0);
  std::vector<std::uint32_t> rows(channel_.banks(), no_row);
  if (at_ >= refreshed_) {  // otherwise all banks are being refreshed
    rows = channel_.open_rows();
    const Place first = map_.place(channel_.feed().next(active_.front()).number);
    const bool has_to_close = rows[first.bank] != no_row && rows[first.bank] != first.row;
    later +=
        has_to_close ? static_cast<double>(config_.timing.rp * config_.timing.ticks_per_clock) : 0;
  }
  const auto open = std::ranges::count_if(rows, [](std::uint32_t row) { return row != no_row; });
  return {std::max(at_, refreshed_) + static_cast<Tick>(later),
          channel_.next_refresh(),
          static_cast<double>(open),
          rank(),
          settling_,
          finds_open(rank(), rows)};
}

/// Whether a start by rates is good enough.
bool StreamChannel::starts_by_rates() const {
  const Progress& progress = offered_.transactions[flowing_.front()];
  return !progress.transaction.is_contiguous() || at_ > progress.arrival || at_ < refreshed_;
}

/// To where the transaction is as good as settled; if a refresh comes before, to where it would be
/// at the instant of its first burst.
std::optional<StreamChannel::Begun> StreamChannel::begin_lone(RateBook& book) {
  if (starts_by_rates()) {
    return Begun{start_by_rates(), 0};
  }
  const auto reach = static_cast<std::uint64_t>(
      static_cast<double>(config_.organisation.channels) *
      (2 * settling_ + static_cast<double>(config_.controller.read_queue)));
  const Scene scene(channel_, map_, offered_, at_, active_.front(), reach);
  if (!scene.is_plain()) {
    return std::nullopt;
  }
  const std::shared_ptr<const Beginning> begun = beginning(scene, book);
  const auto served = static_cast<double>(begun->bursts);
  if (at_ + begun->ticks >= channel_.next_refresh()) {
    const Course& course = rates_->course;
    const double phase = std::fmod(rank(), rates_->period);
    Standing standing = start_by_rates();
    standing.now =
        at_ + begun->ticks - static_cast<Tick>(course.ticks(phase + served) - course.ticks(phase));
    return Begun{std::move(standing), 0};
  }
  const std::vector<std::uint32_t> rows = rows_of(begun->rows, scene);
  const auto open = std::ranges::count_if(rows, [](std::uint32_t row) { return row != no_row; });
  Standing standing{at_ + begun->ticks,
                    channel_.next_refresh(),
                    static_cast<double>(open),
                    rank() + served,
                    settling_,
                    finds_open(rank() + served, rows)};
  channel_.set_open_rows(rows);
  channel_.count(begun->counters);
  channel_.feed().drop(offered_, active_.front(), begun->bursts, [](std::uint64_t) {});
  return Begun{std::move(standing), begun->bursts};
}

bool StreamChannel::serve_lone(RateBook& book) {
  if (!is_lone()) {
    return false;
  }
  const std::size_t stream = active_.front();
  const std::uint32_t id = flowing_.front();
  const double bursts = channel_.feed().left(offered_, stream);
  if (bursts < least_of_lone()) {
    return false;
  }
  rates_ = rates_ == nullptr ? book.of(mix()) : rates_;
  if (!rates_->is_known) {
    return false;
  }
  const std::optional<Begun> begun = begin_lone(book);
  if (!begun) {
    return false;
  }
  const Direction direction = channel_.feed().next(stream).direction;
  channel_.drain_writes(direction == Direction::write);
  const bool is_last = channel_.feed().transaction(stream) + 1 == offered_.streams[stream].size();
  const double left = bursts - static_cast<double>(begun->served) - (is_last ? kept_of_lone : 0);
  const Leap over = Outlook(*rates_, begun->standing).leap_over(left, true);
  take(over);
  const bool is_over =
      !channel_.feed().has_next(stream) || channel_.feed().next(stream).transaction != id;
  if (!is_over) {
    channel_.open_ahead(offered_, stream, config_.controller.read_queue);
  } else {
    offered_.transactions[id].end = over.to + channel_.data_end(direction);
  }
  return true;
}

}  // namespace qfs::dram
