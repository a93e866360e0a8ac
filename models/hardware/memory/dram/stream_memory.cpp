#include "hardware/memory/dram/stream_memory.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace qfs::dram {
namespace {

constexpr std::uint64_t long_from = 512;  // bursts of a channel
constexpr std::uint64_t all_pieces = 64;  // are looked at, of more only some

Counters times(Counters counters, std::uint64_t factor) {
  counters.read_bursts *= factor;
  counters.write_bursts *= factor;
  counters.activates *= factor;
  counters.precharges *= factor;
  counters.precharges_all *= factor;
  counters.refreshes_all *= factor;
  counters.refreshes_bank *= factor;
  return counters;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 32U);
}

}  // namespace

StreamMemory::StreamMemory(const DramConfig& config)
    : StreamMemory(config, std::make_shared<RateBook>(config)) {}

StreamMemory::StreamMemory(const DramConfig& config, std::shared_ptr<RateBook> book)
    : config_(config), clock_(config.timing), map_(config), book_(std::move(book)) {
  assert(book_->is_for(config));
  std::vector<std::uint32_t> all(config.organisation.channels);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    all[i] = i;
  }
  const StreamChannel channel(config, 0);
  groups_.push_back({std::move(all), channel, channel, true, 0, {}});
}

std::vector<StreamMemory::Touch> StreamMemory::touches_of(const Transaction& transaction) const {
  const std::uint64_t burst_bytes = config_.organisation.burst_bytes();
  const std::uint64_t pieces = transaction.pieces();
  const std::uint64_t block = map_.bursts_of_block() * burst_bytes;
  const bool is_even = is_spread_evenly(transaction, block);  // only the last piece may differ
  const std::uint64_t looked_at = std::min(pieces, is_even ? 2 : all_pieces);
  struct Run {
    std::uint64_t first = 0;  // burst
    std::uint64_t past = 0;
  };
  std::vector<Run> runs;
  for (std::uint64_t i = 0; i < looked_at; ++i) {
    const std::uint64_t piece = i < looked_at / 2 ? i : pieces - looked_at + i;
    const std::uint64_t at = transaction.piece_address(piece);
    const std::uint64_t past = (at + transaction.piece_bytes(piece) - 1) / burst_bytes + 1;
    runs.push_back({at / burst_bytes, past});
  }
  std::vector<Touch> touches;
  for (std::uint32_t channel = 0; channel < config_.organisation.channels; ++channel) {
    Touch touch{channel, 0, 0};
    for (std::uint64_t i = 0; i < looked_at; ++i) {
      const std::uint64_t from = map_.rank_in(channel, runs[i].first);
      const std::uint64_t to = map_.rank_in(channel, runs[i].past);
      touch.bursts += to - from;
      touch.signature =
          to > from ? mixed(mixed(mixed(touch.signature, i), from), to) : touch.signature;
    }
    if (touch.bursts > 0) {
      touch.bursts = touch.bursts * pieces / looked_at;
      touches.push_back(touch);
    }
  }
  return touches;
}

std::size_t StreamMemory::start(const Transaction& transaction) {
  assert(transaction.length.value() >= 0 && transaction.piece >= 1);
  const Tick arrival = clock_.tick_at(transaction.arrival);
  assert(arrival >= run_to_);
  const std::size_t id = records_.size();
  const std::uint64_t bursts = bursts_of(transaction, config_.organisation.burst_bytes());
  records_.push_back(
      {arrival, arrival, bursts, transaction.direction, transaction.stream, bursts == 0});
  if (bursts == 0) {
    return id;
  }
  in_flight_.push_back(id);
  std::vector<Touch> touches = touches_of(transaction);
  const std::uint64_t block = map_.bursts_of_block() * config_.organisation.burst_bytes();
  const bool is_even = is_spread_evenly(transaction, block);
  const bool long_is_lenient =
      is_even ? in_flight_.size() == 1 : transaction.piece_step() % block != 0;
  const bool short_is_lenient = is_behind_long(transaction.stream);
  std::ranges::sort(touches, std::ranges::greater{}, &Touch::bursts);
  while (!touches.empty()) {
    const Touch first = touches.front();
    const bool is_long = first.bursts >= long_from;
    const bool is_lenient = is_long ? long_is_lenient : short_is_lenient;
    const auto is_alike = [&](const Touch& other) {
      return is_lenient ? first.bursts - other.bursts <= 1 + first.bursts / 256
                        : first.signature == other.signature;
    };
    std::vector<Touch> alike;
    std::ranges::copy_if(touches, std::back_inserter(alike), is_alike);
    std::erase_if(touches, is_alike);
    give(transaction, id, alike, is_long, is_lenient);
  }
  is_ahead_ = false;
  return id;
}

/// To the channels of `alike`, the first of which has the most to do: to each group of which they
/// are part, or, if it is long, to one for all groups that have the same in flight.
void StreamMemory::give(const Transaction& transaction, std::size_t id,
                        const std::vector<Touch>& alike, bool is_long, bool is_lenient) {
  std::vector<std::size_t> touched;
  const std::size_t groups = groups_.size();
  for (std::size_t g = 0; g < groups; ++g) {
    std::vector<std::uint32_t> channels;
    for (const Touch& touch : alike) {
      if (std::ranges::find(groups_[g].channels, touch.channel) != groups_[g].channels.end()) {
        channels.push_back(touch.channel);
      }
    }
    if (!channels.empty()) {
      if (!can_wait(groups_[g], transaction, alike.front().bursts)) {
        catch_up(groups_[g]);
      }
      touched.push_back(split(g, channels));
    }
  }
  for (std::size_t i = 0; is_long && i < touched.size(); ++i) {
    Group& into = groups_[touched[i]];
    for (std::size_t k = touched.size(); k-- > i + 1;) {
      Group& from = groups_[touched[k]];
      if (from.flights != into.flights ||
          !std::ranges::all_of(into.flights, [](const Flight& flight) { return flight.is_long; })) {
        continue;
      }
      if (from.now.banks_open() > into.now.banks_open()) {
        into.now = from.now;
      }
      into.channels.insert(into.channels.end(), from.channels.begin(), from.channels.end());
      from.channels.clear();
      touched.erase(touched.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  for (const std::size_t g : touched) {
    Group& group = groups_[g];
    group.is_ahead = false;
    const auto most = std::ranges::find_if(alike, [&](const Touch& touch) {
      return std::ranges::find(group.channels, touch.channel) != group.channels.end();
    });
    group.now.renumber(most->channel);
    group.flights.push_back({id, group.now.start(transaction, records_[id].arrival), is_long,
                             is_lenient ? 0 : most->signature});
  }
  std::erase_if(groups_, [](const Group& group) { return group.channels.empty(); });
}

/// Whether on every channel something long of the stream is under way.
bool StreamMemory::is_behind_long(std::size_t stream) const {
  return std::ranges::all_of(groups_, [&](const Group& group) {
    return std::ranges::any_of(group.flights, [&](const Flight& flight) {
      const Record& record = records_[flight.id];
      return flight.is_long && record.stream == stream && !record.is_final;
    });
  });
}

/// A few writes while long reads go on: the channel need not have come to their arrival, which
/// changes nothing as yet (StreamChannel::next_to_heed). More of them, as long as it is where it
/// can reckon with them.
bool StreamMemory::can_wait(const Group& group, const Transaction& transaction,
                            std::uint64_t bursts) const {
  const auto margin = static_cast<Tick>(2 * settling_clocks(config_)) *
                      static_cast<Tick>(config_.timing.ticks_per_clock);
  return group.is_ahead && !group.flights.empty() && transaction.direction == Direction::write &&
         (bursts < config_.controller.write_drain_from || group.now.awaits_writes()) &&
         run_to_ + margin < group.last_end &&
         std::ranges::all_of(group.flights, [this](const Flight& flight) {
           const Record& record = records_[flight.id];
           return !record.is_final && record.direction == Direction::read;
         });
}

/// Those of the group's channels become a group of their own, unless they are all of it.
std::size_t StreamMemory::split(std::size_t g, const std::vector<std::uint32_t>& channels) {
  if (channels.size() == groups_[g].channels.size()) {
    return g;
  }
  const Group& whole = groups_[g];
  Group part{channels, whole.now, std::nullopt, false, whole.last_end, whole.flights};
  std::erase_if(groups_[g].channels, [&](std::uint32_t channel) {
    return std::ranges::find(channels, channel) != channels.end();
  });
  groups_[g].now.renumber(groups_[g].channels.front());
  groups_.push_back(std::move(part));
  return groups_.size() - 1;
}

/// To the instant to which the memory has run; what was counted is taken over.
void StreamMemory::catch_up(Group& group) {
  if (group.is_ahead && group.last_end <= run_to_) {
    std::swap(group.now, *group.ahead);
  }
  group.now.advance(run_to_ - 1, *book_);
  group.is_ahead = false;
  std::erase_if(group.flights, [&](const Flight& flight) {
    return records_[flight.id].is_final && group.now.forget(flight.number);
  });
  before_ += times(group.now.counters(), group.channels.size());
  group.now.reset_counters();
}

void StreamMemory::look_ahead() const {
  if (is_ahead_) {
    return;
  }
  for (Group& group : groups_) {
    if (!group.is_ahead) {
      group.ahead = group.now;
      group.ahead->advance(never, *book_);
      group.is_ahead = true;
      group.last_end = 0;
      for (const Flight& flight : group.flights) {
        group.last_end = std::max(group.last_end, group.ahead->end(flight.number));
      }
    }
  }
  for (const std::size_t id : in_flight_) {
    records_[id].end = std::max(records_[id].arrival, run_to_);
  }
  for (const Group& group : groups_) {
    for (const Flight& flight : group.flights) {
      Record& record = records_[flight.id];
      if (!record.is_final) {
        record.end = std::max(record.end, group.ahead->end(flight.number));
      }
    }
  }
  is_ahead_ = true;
}

void StreamMemory::run_until(Femtoseconds time) {
  look_ahead();
  run_to_ = std::max(run_to_, clock_.tick_at(time));
  finish_ended();
}

void StreamMemory::run() {
  look_ahead();
  for (const std::size_t id : in_flight_) {
    run_to_ = std::max(run_to_, records_[id].end);
  }
  finish_ended();
}

void StreamMemory::finish_ended() {
  std::erase_if(in_flight_, [this](std::size_t id) {
    records_[id].is_final = records_[id].end <= run_to_;
    return records_[id].is_final;
  });
}

std::optional<Femtoseconds> StreamMemory::end(std::size_t transaction) const {
  look_ahead();
  return clock_.time_of(records_[transaction].end);
}

Counters StreamMemory::counters() const {
  look_ahead();
  Counters sum = before_;
  for (const Group& group : groups_) {
    StreamChannel channel = group.last_end <= run_to_ ? *group.ahead : group.now;
    channel.advance(run_to_ - 1, *book_);
    sum += times(channel.counters(), group.channels.size());
  }
  sum.read_bursts = 0;
  sum.write_bursts = 0;
  for (const Record& record : records_) {
    const double share = record.is_final
                             ? 1
                             : std::clamp(static_cast<double>(run_to_ - record.arrival) /
                                              static_cast<double>(record.end - record.arrival),
                                          0.0, 1.0);
    const auto bursts = static_cast<std::uint64_t>(share * static_cast<double>(record.bursts));
    (record.direction == Direction::read ? sum.read_bursts : sum.write_bursts) += bursts;
  }
  return sum;
}

BurstRun run_streams(const DramConfig& config, std::span<const Transaction> transactions) {
  StreamMemory memory(config, shared_rate_book(config));
  for (const Transaction& transaction : transactions) {
    memory.start(transaction);
  }
  memory.run();
  BurstRun run;
  run.counters = memory.counters();
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    run.ends.push_back(memory.end(i).value());
    run.end = std::max(run.end, run.ends.back());
  }
  return run;
}

}  // namespace qfs::dram
