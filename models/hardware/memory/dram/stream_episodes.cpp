// How a channel of the stream tier begins and ends transactions as it did before.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "hardware/memory/dram/stream_channel.hpp"

namespace qfs::dram {

/// A long stream by itself, of which nothing has been taken, on a channel that has been at rest and
/// will not be refreshed soon.
bool StreamChannel::is_beginning() const {
  const BurstFeed& feed = channel_.feed();
  if (active_.size() != 1 || !channel_.is_idle() || at_ < refreshed_ ||
      channel_.next_refresh() <= at_ + 2 * settling_ticks_ || !map_.has_stripes()) {
    return false;
  }
  const std::size_t stream = active_.front();
  const Transaction& transaction = offered_.transactions[flowing_.front()].transaction;
  const std::uint64_t first = transaction.address / config_.organisation.burst_bytes();
  const std::uint64_t block = map_.bursts_of_block() * config_.organisation.burst_bytes();
  return feed.piece(stream) == 0 && is_spread_evenly(transaction, block) &&
         feed.next(stream).number == map_.next_of_channel(first, number_);
}

bool StreamChannel::begin_as_before(Tick limit, RateBook& book) {
  if (!is_beginning() || !is_worth_while(bursts_to_leave_out() - settling_) ||
      std::min(limit, channel_.feed().arrival_after(at_)) <= at_ + 2 * settling_ticks_) {
    return false;
  }
  rates_ = rates_ == nullptr ? book.of(mix()) : rates_;
  if (!rates_->is_known) {
    return false;
  }
  const auto reach = static_cast<std::uint64_t>(
      static_cast<double>(config_.organisation.channels) *
      (2 * settling_ + static_cast<double>(config_.controller.read_queue)));
  const Scene scene(channel_, map_, offered_, at_, active_.front(), reach);
  if (!scene.is_plain()) {
    return false;
  }
  const std::shared_ptr<const Beginning> begun = beginning(scene, book);
  const auto open = std::ranges::count_if(begun->rows, [](Scene::Name name) { return name != 0; });
  const auto served = static_cast<double>(begun->bursts);
  const std::vector<std::uint32_t> rows = rows_of(begun->rows, scene);
  const Standing standing{at_ + begun->ticks,
                          channel_.next_refresh(),
                          static_cast<double>(open),
                          rank() + served,
                          settling_,
                          finds_open(rank() + served, rows)};
  const std::optional<Leap> over = leap_from(standing, bursts_to_leave_out() - served, limit);
  if (!over) {
    return false;
  }
  channel_.set_open_rows(rows);
  channel_.count(begun->counters);
  channel_.feed().drop(offered_, active_.front(), begun->bursts, [](std::uint64_t) {});
  channel_.drain_writes(channel_.feed().next(active_.front()).direction == Direction::write);
  take(*over);
  return true;
}

std::shared_ptr<const Beginning> StreamChannel::beginning(const Scene& scene, RateBook& book) {
  std::shared_ptr<const Beginning> known = book.episodes().beginnings.of(scene.notes());
  if (known == nullptr) {
    const Tick step = 8 * static_cast<Tick>(std::ceil(rates_->course.slope()));
    StreamChannel trial = *this;
    trial.channel_.reset_counters();
    trial.channel_.stop_refreshes();
    Tick until = at_ + settling_ticks_;
    trial.channel_.advance(trial.offered_, until, nullptr);
    // A leap does not begin where rows are about to change.
    while (good_place(config_, *rates_, trial.rank()) != trial.rank()) {
      trial.channel_.advance(trial.offered_, until += step, nullptr);
    }
    Beginning begun;
    begun.ticks = std::max(trial.channel_.now(), until + 1) - at_;
    begun.counters = trial.channel_.counters();
    begun.bursts = begun.counters.bursts();
    begun.rows = trial.names_of_rows(scene);
    known = std::make_shared<const Beginning>(std::move(begun));
    book.episodes().beginnings.add(scene.notes(), known);
  }
  return known;
}

/// All that is still to come has arrived, nothing of it has been taken since a leap, and it is too
/// little for another one.
bool StreamChannel::is_ending() const {
  const BurstFeed& feed = channel_.feed();
  if (!channel_.is_idle() || feed.is_exhausted() || feed.arrival_after(at_) < never) {
    return false;
  }
  bool is_contiguous = false;
  for (std::size_t stream = 0; stream < feed.streams(); ++stream) {
    is_contiguous =
        is_contiguous ||
        (feed.has_next(stream) &&
         offered_.transactions[feed.next(stream).transaction].transaction.is_contiguous());
  }
  const double left = feed.most_left(offered_);
  return left > kept_of_lone &&
         left < settling_ + (is_contiguous ? least_of_sequential : least_of_one);
}

bool StreamChannel::end_as_before(RateBook& book) {
  const Scene scene(channel_, map_, offered_, at_);
  if (!scene.is_plain()) {
    return false;
  }
  const std::shared_ptr<const Ending> known = book.episodes().endings.of(scene.notes());
  if (known == nullptr) {
    end_exactly(scene, book);
  } else if (at_ + (known->aftermath.now - known->from) < channel_.next_refresh()) {
    repeat(*known, scene);
  } else {
    return false;
  }
  return true;
}

/// And remembers it, unless a refresh comes between.
void StreamChannel::end_exactly(const Scene& scene, RateBook& book) {
  const Counters before = channel_.counters();
  const Tick next_refresh = channel_.next_refresh();
  const Tick from = at_;
  advance_exactly(never);
  if (channel_.next_refresh() != next_refresh) {
    return;
  }
  Ending ending{from, {}, channel_.aftermath(), names_of_rows(scene), {}, channel_.feed().last()};
  for (const std::uint32_t id : scene.transactions()) {
    ending.ends.push_back(std::max<Tick>(0, offered_.transactions[id].end - from));
  }
  const Counters& now = channel_.counters();
  ending.counters.read_bursts = now.read_bursts - before.read_bursts;
  ending.counters.write_bursts = now.write_bursts - before.write_bursts;
  ending.counters.activates = now.activates - before.activates;
  ending.counters.precharges = now.precharges - before.precharges;
  book.episodes().endings.add(scene.notes(), std::make_shared<const Ending>(std::move(ending)));
}

void StreamChannel::repeat(const Ending& ending, const Scene& scene) {
  for (std::size_t i = 0; i < ending.ends.size(); ++i) {
    Progress& progress = offered_.transactions[scene.transactions()[i]];
    if (ending.ends[i] > 0) {
      progress.end = std::max(progress.end, at_ + ending.ends[i]);
    }
  }
  channel_.set_open_rows(rows_of(ending.rows, scene));
  channel_.count(ending.counters);
  channel_.feed().drop_all(offered_, ending.last_stream);
  channel_.resume(ending.aftermath, at_ - ending.from);
  at_ = std::max(at_, channel_.now());
}

/// By bank.
std::vector<Scene::Name> StreamChannel::names_of_rows(const Scene& scene) const {
  std::vector<Scene::Name> names;
  for (std::uint32_t bank = 0; bank < channel_.banks(); ++bank) {
    names.push_back(scene.name_of(channel_.open_row(bank)));
  }
  return names;
}

/// What the scene does not come to stays as it is.
std::vector<std::uint32_t> StreamChannel::rows_of(std::span<const Scene::Name> names,
                                                  const Scene& scene) const {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t bank = 0; bank < channel_.banks(); ++bank) {
    rows.push_back(names[bank] == Scene::another_row ? channel_.open_row(bank)
                                                     : scene.row_of(names[bank]));
  }
  return rows;
}

}  // namespace qfs::dram
