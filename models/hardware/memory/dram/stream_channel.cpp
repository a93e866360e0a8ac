#include "hardware/memory/dram/stream_channel.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qfs::dram {
namespace {

constexpr std::uint64_t uncounted = std::uint64_t{1} << 60U;  // bursts left

constexpr double grid = 256;  // of leaps' lengths: a little more to do is that much more at the end

}  // namespace

StreamChannel::StreamChannel(const DramConfig& config, std::uint32_t number)
    : config_(config),
      number_(number),
      map_(config),
      channel_(config, number),
      settling_(settling_bursts(config)),
      settling_ticks_(static_cast<Tick>(settling_clocks(config) * config.timing.ticks_per_clock)) {}

std::uint32_t StreamChannel::start(const Transaction& transaction, Tick arrival) {
  channel_.feed().forget_given(offered_);
  std::uint32_t id = 0;
  if (free_.empty()) {
    id = static_cast<std::uint32_t>(offered_.transactions.size());
    offered_.transactions.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  offered_.transactions[id] = {transaction, arrival, uncounted, arrival,
                               channel_.feed().bursts_of_piece(transaction)};
  if (offered_.streams.size() <= transaction.stream) {
    offered_.streams.resize(transaction.stream + 1);
  }
  offered_.streams[transaction.stream].push_back(id);
  flowing_.clear();  // whose numbers may be others' now
  drained_ = nothing;
  return id;
}

bool StreamChannel::forget(std::uint32_t transaction) {
  channel_.feed().forget_given(offered_);
  const bool is_offered = std::ranges::any_of(offered_.streams, [transaction](const auto& order) {
    return std::ranges::find(order, transaction) != order.end();
  });
  if (is_offered || channel_.waiting(transaction) > 0) {
    return false;
  }
  free_.push_back(transaction);
  return true;
}

void StreamChannel::advance(Tick limit, RateBook& book) {
  const Tick step = settling_ticks_ / 2;  // between looks
  while (at_ <= limit) {
    channel_.feed().offer(offered_);
    if (limit == never && is_ending() && end_as_before(book)) {
      return;
    }
    if (channel_.feed().most_left(offered_) < settling_ + least_of_sequential) {
      advance_exactly(limit);
      return;
    }
    find_active();
    if (active_.empty()) {
      advance_exactly(std::min(limit, channel_.feed().arrival_after(at_)));
    } else if (limit == never && serve_lone(book)) {
      continue;
    } else if (!begin_as_before(limit, book) && (!is_settled(book) || !leave_out(limit))) {
      advance_exactly(std::min(limit, at_ + step));
    }
  }
}

void StreamChannel::advance_exactly(Tick limit) {
  channel_.advance(offered_, limit, nullptr);
  at_ = std::max(channel_.now(), limit == never ? at_ : limit + 1);
  if (channel_.counters().refreshes_all != refreshes_) {
    refreshes_ = channel_.counters().refreshes_all;
    refreshed_ = channel_.refreshed() +
                 static_cast<Tick>(config_.timing.rfc * config_.timing.ticks_per_clock);
  }
}

void StreamChannel::find_active() {
  const BurstFeed& feed = channel_.feed();
  std::vector<std::uint32_t> flowing;
  active_.clear();
  bool are_reads = false;
  for (std::size_t stream = 0; stream < feed.streams(); ++stream) {
    if (feed.is_active(stream, at_)) {
      active_.push_back(stream);
      are_reads = are_reads || feed.next(stream).direction == Direction::read;
    }
  }
  if (are_reads) {
    std::erase(active_, drained_);
  }
  for (const std::size_t stream : active_) {
    flowing.push_back(feed.next(stream).transaction);
  }
  if (flowing != flowing_) {
    flowing_ = std::move(flowing);
    changed_ = at_;
    rates_ = nullptr;
  }
}

double StreamChannel::least_leap() const {
  if (active_.size() > 1) {
    return least_of_several;
  }
  const Transaction& transaction = offered_.transactions[flowing_.front()].transaction;
  return transaction.is_contiguous() ? least_of_sequential : least_of_one;
}

bool StreamChannel::flows(Direction direction) const {
  return std::ranges::any_of(flowing_, [&](std::uint32_t id) {
    return offered_.transactions[id].transaction.direction == direction;
  });
}

/// Requests of transactions that offer no more are served soon, but for writes while there are
/// reads: those whose row is open wait for the next refresh, which stops the reads, the others for
/// the end of the reads.
bool StreamChannel::others_wait() const {
  const bool reads = flows(Direction::read);
  if (reads && !flows(Direction::write) && channel_.drains_writes()) {
    return true;
  }
  const bool refreshes = config_.controller.refresh == RefreshMode::all_bank;
  return channel_.has_others(flowing_, {!reads, !reads || refreshes});
}

bool StreamChannel::is_worth_while(double bursts) const {
  const bool may_fight =
      active_.size() > 1 ||
      halves_meet(config_, map_, offered_.transactions[flowing_.front()].transaction);
  return bursts >= (may_fight ? least_of_fight : least_leap());
}

/// Whether a leap is worth while, and what it needs is known.
bool StreamChannel::is_settled(RateBook& book) {
  if (at_ - std::max(changed_, refreshed_) < settling_ticks_ || channel_.owes_refresh() ||
      !is_worth_while(bursts_to_leave_out()) || others_wait()) {
    return false;
  }
  if (rates_ == nullptr) {
    rates_ = book.of(mix());
  }
  return rates_->is_known;
}

/// As many as leave every stream enough for its end to come out exactly.
double StreamChannel::bursts_to_leave_out() const {
  const bool is_known = rates_ != nullptr && rates_->is_known;
  const double kept =
      is_known ? std::min(settling_, static_cast<double>(settling_ticks_) / rates_->course.slope())
               : settling_;
  double bursts = 1e18;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const double share = is_known ? rates_->shares[i] : 1;
    const double left = channel_.feed().left(offered_, active_[i]) +
                        static_cast<double>(channel_.waiting(flowing_[i]));
    bursts = std::min(bursts, (left - kept) / share);
  }
  return bursts;
}

/// Of the first burst of a sequential stream that is not served.
double StreamChannel::rank() const {
  const std::uint64_t next = map_.rank_in(number_, channel_.feed().next(active_.front()).number);
  return static_cast<double>(next - channel_.waiting(flowing_.front()));
}

/// Whether a sequential stream finds rows open that it has to close, of these, at its next changes
/// of rows from a rank on, through all banks. A row that it has opened ahead is told as the next.
std::vector<bool> StreamChannel::finds_open(double rank,
                                            std::span<const std::uint32_t> rows) const {
  const auto period = static_cast<std::uint64_t>(rates_->period);
  const bool is_known = period > 1 && map_.has_stripes();
  const std::uint64_t round = is_known ? map_.rank_in(0, map_.bursts_of_stripe()) : 0;
  const std::uint64_t first = static_cast<std::uint64_t>(rank) / period * period;
  std::vector<bool> open(round / period, true);
  for (std::size_t i = open.size(); i-- > 0;) {
    const Place place = map_.place(map_.burst_of(number_, first + (i + 1) * period));
    const bool is_ahead = rows[place.bank] == place.row;
    open[i] = is_ahead && i + 1 < open.size() ? open[i + 1] : rows[place.bank] != no_row;
  }
  return open;
}

/// Bursts that a stream has left, if they are all written.
double StreamChannel::writes_of(std::size_t stream) const {
  const BurstFeed& feed = channel_.feed();
  const std::vector<std::uint32_t>& order = offered_.streams[stream];
  double bursts = 0;
  for (std::size_t i = feed.transaction(stream); i < order.size(); ++i) {
    const Progress& progress = offered_.transactions[order[i]];
    if (progress.transaction.direction == Direction::read) {
      return static_cast<double>(uncounted);
    }
    bursts += std::ceil(i == feed.transaction(stream) ? feed.left(offered_, stream)
                                                      : feed.bursts_of(progress));
  }
  return bursts;
}

/// The next arrival that changes what goes on. A few writes do not while reads do: the controller
/// keeps them until no reads are left. They can as well arrive with the last of these.
Tick StreamChannel::next_to_heed() const {
  const BurstFeed& feed = channel_.feed();
  const bool only_reads = !flows(Direction::write);
  auto writes = static_cast<double>(channel_.queued(Direction::write));
  Tick next = never;
  for (std::size_t stream = 0; stream < feed.streams(); ++stream) {
    if (!feed.has_next(stream)) {
      continue;
    }
    const bool is_here = feed.arrival(stream) <= at_;
    if (is_here && feed.next(stream).direction == Direction::read) {
      continue;
    }
    writes += writes_of(stream);
    const bool can_wait =
        is_here ||
        (only_reads && writes < static_cast<double>(config_.controller.write_drain_from));
    next = can_wait ? next : std::min(next, feed.arrival(stream));
  }
  return next;
}

std::optional<Leap> StreamChannel::leap_from(const Standing& standing, double bursts,
                                             Tick limit) const {
  const Outlook outlook(*rates_, standing);
  const Tick bound = std::min(limit, next_to_heed());
  if (bound < never) {
    if (bound - settling_ticks_ <= standing.now) {
      return std::nullopt;
    }
    bursts = std::min(bursts, outlook.bursts_until(bound - settling_ticks_));
  }
  if (rates_->period > 1) {
    bursts = good_place(config_, *rates_, standing.rank + std::floor(bursts)) - standing.rank;
  } else {
    bursts = std::floor(bursts / grid) * grid;
  }
  if (bursts < least_leap()) {
    return std::nullopt;
  }
  const Leap over = outlook.leap_over(bursts);
  if (over.bursts < least_of_sequential || over.to <= standing.now || over.to >= bound) {
    return std::nullopt;
  }
  return over;
}

void StreamChannel::take(const Leap& over) {
  leap(channel_, offered_, active_, *rates_, over);
  const std::uint64_t refreshes = channel_.counters().refreshes_all - refreshes_;
  closings_left_out_ += refreshes;
  refreshes_ = channel_.counters().refreshes_all;
  activates_left_out_ += rates_->activates.of(over.bursts, static_cast<double>(refreshes));
  precharges_left_out_ += rates_->precharges.of(over.bursts, static_cast<double>(refreshes));
  at_ = channel_.now();
  changed_ = at_;
}

bool StreamChannel::leave_out(Tick limit) {
  const Standing standing{at_,
                          channel_.next_refresh(),
                          static_cast<double>(channel_.banks_open()),
                          rank(),
                          settling_,
                          finds_open(rank(), channel_.open_rows())};
  const std::optional<Leap> over = leap_from(standing, bursts_to_leave_out(), limit);
  if (over) {
    take(*over);
  }
  return over.has_value();
}

/// A stream from where it has come to.
Transaction StreamChannel::rest_of(std::size_t stream) const {
  const BurstFeed& feed = channel_.feed();
  Transaction rest = offered_.transactions[feed.next(stream).transaction].transaction;
  if (rest.is_contiguous()) {
    rest.address = feed.next(stream).number * config_.organisation.burst_bytes();
    rest.second = 0;
    return rest;
  }
  const std::uint64_t halves = rest.alternates ? 2 : 1;
  const std::uint64_t ahead = feed.piece(stream) / halves * rest.piece_step();
  rest.address += ahead;
  rest.second = rest.alternates ? rest.second + ahead : 0;
  return rest;
}

/// Bursts by which a stream is ahead of its rest, as far as a few parts of a stripe matter.
std::uint64_t StreamChannel::ahead_of_rest(std::size_t stream, std::uint64_t part) const {
  const BurstFeed& feed = channel_.feed();
  const Progress& progress = offered_.transactions[feed.next(stream).transaction];
  if (progress.transaction.is_contiguous() || active_.size() == 1) {
    return 0;
  }
  const bool in_second = progress.transaction.alternates && feed.piece(stream) % 2 == 1;
  const double ahead =
      feed.given_of_piece(offered_, stream) + (in_second ? progress.bursts_of_piece : 0);
  const std::uint64_t ranks =
      std::max<std::uint64_t>(1, map_.rank_in(0, part / config_.organisation.burst_bytes()));
  const auto parts = static_cast<std::uint64_t>(std::max(0.0, ahead) / static_cast<double>(ranks));
  return parts * ranks;
}

/// Moves streams by whole stripes, and to where all of their kind lie: as far as possible by their
/// own steps. Of several, the places relative to the first count, in parts of a stripe.
Mix StreamChannel::mix() const {
  constexpr std::uint64_t parts_of_stripe = 64;
  constexpr std::uint64_t stripes_apart = 64;
  const std::uint64_t burst_bytes = config_.organisation.burst_bytes();
  const std::uint64_t stripe = map_.bursts_of_stripe() * burst_bytes;
  const std::uint64_t part = std::max(stripe / parts_of_stripe, burst_bytes);
  const std::uint64_t block = map_.bursts_of_block() * burst_bytes;
  Mix mix;
  bool is_even = true;
  bool is_scattered = false;
  std::uint64_t place = 0;  // of the next half, in rows of its own
  std::uint64_t first = 0;
  for (const std::size_t stream : active_) {
    Transaction rest = rest_of(stream);
    first = mix.streams.empty() ? rest.address : first;
    const std::uint64_t phase = rest.is_contiguous() ? 1 : std::gcd(rest.piece_step(), stripe);
    const std::uint64_t beside =
        ((rest.address - first) % stripe + part / 2) / part * part % stripe;
    const std::uint64_t apart = rest.second - rest.address;
    const bool is_near = apart < stripe || apart > -stripe;
    is_even = is_even && is_spread_evenly(rest, block);
    is_scattered = is_scattered || (!rest.is_contiguous() && rest.piece_step() % block != 0);
    rest.address = place + beside / phase * phase + rest.address % phase;
    place += stripes_apart * stripe;
    if (rest.alternates) {
      rest.second = rest.address + (is_near ? apart : apart % stripe + stripes_apart * stripe);
      place += stripes_apart * stripe;
    }
    mix.streams.push_back(rest);
    mix.ahead.push_back(ahead_of_rest(stream, part));
  }
  if (!is_even) {  // otherwise all channels are alike
    mix.channel = is_scattered && mix.streams.size() == 1
                      ? map_.channel(mix.streams.front().address / burst_bytes)
                      : number_;
  }
  return mix;
}

Counters StreamChannel::counters() const {
  Counters counters = channel_.counters();
  counters.activates +=
      static_cast<std::uint64_t>(std::llround(std::max(0.0, activates_left_out_)));
  counters.precharges +=
      static_cast<std::uint64_t>(std::llround(std::max(0.0, precharges_left_out_)));
  counters.precharges_all += closings_left_out_;
  return counters;
}

void StreamChannel::reset_counters() {
  channel_.reset_counters();
  refreshes_ = 0;
  activates_left_out_ = 0;
  precharges_left_out_ = 0;
  closings_left_out_ = 0;
}

void StreamChannel::renumber(std::uint32_t channel) {
  channel_.renumber(offered_, channel);
  number_ = channel;
}

}  // namespace qfs::dram
