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

/// A long transaction of which nothing has been taken, while nothing else is there; others may
/// follow in its stream. Refreshes of single banks would each delay it in their own way.
bool StreamChannel::is_lone() const {
  return config_.controller.refresh != RefreshMode::per_bank && active_.size() == 1 &&
         channel_.is_idle() && map_.has_stripes() && is_untouched(active_.front());
}

/// If that is all that is to come, beside what follows in the active stream, which runs through
/// all channels.
std::optional<StreamChannel::WritesBetween> StreamChannel::writes_between() const {
  constexpr std::uint64_t most = 4096;  // bursts
  const BurstFeed& feed = channel_.feed();
  std::optional<WritesBetween> writes;
  for (std::size_t stream = 0; stream < feed.streams(); ++stream) {
    if (stream == active_.front() || !feed.has_next(stream)) {
      continue;
    }
    const bool is_one = feed.transaction(stream) + 1 == offered_.streams[stream].size();
    if (writes || !is_one || feed.next(stream).direction != Direction::write ||
        feed.bursts_of(offered_.transactions[feed.next(stream).transaction]) > most) {
      return std::nullopt;
    }
    writes = {stream, feed.arrival(stream)};
    BurstFeed copy = feed;
    copy.drop(offered_, stream, 2 * most, [&](std::uint64_t) { ++writes->bursts; });
  }
  const bool is_only_read =
      std::ranges::all_of(offered_.streams[active_.front()], [this](std::uint32_t id) {
        const Transaction& transaction = offered_.transactions[id].transaction;
        return transaction.direction == Direction::read && transaction.stride == 0;
      });
  return is_only_read ? writes : std::nullopt;
}

bool StreamChannel::awaits_writes() const {
  return config_.controller.refresh != RefreshMode::per_bank && map_.has_stripes() &&
         channel_.is_idle() && channel_.feed().is_exhausted();
}

/// Far from a mix's streams, moved by whole stripes: which banks a channel comes to stays.
Transaction StreamChannel::at_place_of_kind(const Transaction& writes) const {
  constexpr std::uint64_t stripes_apart = 256;
  const std::uint64_t stripe = map_.bursts_of_stripe() * config_.organisation.burst_bytes();
  Transaction there = writes;
  there.address = stripes_apart * stripe + writes.address % stripe;
  if (there.alternates) {
    there.second = 2 * stripes_apart * stripe + writes.second % stripe;
  }
  return there;
}

/// Whether what the writes cost is known and little of the time, and they come early enough to be
/// drained before the end.
bool StreamChannel::find_drain(WritesBetween& writes, double left, RateBook& book) const {
  constexpr Tick least_of_drain = 20;  // times as long as it delays
  const Tick margin = 4 * settling_ticks_;
  const Tick alone = Outlook(*rates_, start_by_rates()).leap_over(left, true).to;
  if (alone < writes.arrival + margin) {
    return false;
  }
  const std::uint32_t id = channel_.feed().next(writes.stream).transaction;
  Mix beside = mix();
  beside.channel = number_;
  writes.drain = book.drain(beside, at_place_of_kind(offered_.transactions[id].transaction));
  const auto delay = static_cast<Tick>(writes.drain->ticks);
  return writes.drain->is_known && alone >= writes.arrival + margin + delay &&
         alone - at_ >= least_of_drain * delay;
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

/// All but the last few, which the controller keeps.
void StreamChannel::leave_out(const WritesBetween& writes) {
  const std::uint64_t drained = writes.bursts - std::min(writes.bursts, writes.drain->left);
  channel_.feed().drop(offered_, writes.stream, drained, [](std::uint64_t) {});
  drained_ = writes.stream;
  activates_left_out_ += writes.drain->activates;
  precharges_left_out_ += writes.drain->precharges;
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
  const bool can_wait = next_to_heed() == never;
  std::optional<WritesBetween> writes = can_wait ? std::nullopt : writes_between();
  if (!can_wait && !writes) {
    return false;
  }
  rates_ = rates_ == nullptr ? book.of(mix()) : rates_;
  if (!rates_->is_known || (writes && !find_drain(*writes, bursts, book))) {
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
  const double drained =
      writes ? std::round(writes->drain->ticks / rates_->course.slope()) : 0;  // bursts, in time
  Leap over = Outlook(*rates_, begun->standing).leap_over(left + drained, true);
  over.bursts = std::max(0.0, over.bursts - drained);
  take(over);
  if (writes) {
    leave_out(*writes);
  }
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
