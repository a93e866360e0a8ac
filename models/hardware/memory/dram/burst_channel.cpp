#include "hardware/memory/dram/burst_channel.hpp"

#include <algorithm>
#include <cassert>

namespace qfs::dram {
namespace {

// Keys of a choice: what waits aside, then refresh, then the queue, each by age.
constexpr std::int64_t refresh_key = std::int64_t{1} << 60U;
constexpr std::int64_t queued_key = std::int64_t{1} << 61U;

std::size_t side(Direction direction) { return static_cast<std::size_t>(direction); }

Command access(Direction direction) {
  return direction == Direction::read ? Command::read : Command::write;
}

}  // namespace

BurstChannel::BurstChannel(const DramConfig& config, std::uint32_t number)
    : config_(config),
      number_(number),
      map_(config),
      feed_(map_, config.organisation.burst_bytes(), number),
      queue_(config.organisation.banks_of_channel(), config.controller.read_queue,
             config.controller.write_queue),
      times_(config),
      refresh_(config),
      edge_(static_cast<Tick>(config.timing.ticks_per_clock) - 1),
      row_bus_(config.timing.row_bus) {
  const Timing& timing = config.timing;
  const std::size_t ranks = config.organisation.pseudochannels * config.organisation.ranks;
  open_banks_.assign(ranks, 0);
  aside_.assign(ranks, 0);
  read_end_ = static_cast<Tick>((timing.read_latency + timing.burst) * timing.ticks_per_clock);
  write_end_ = static_cast<Tick>((timing.write_latency + timing.burst) * timing.ticks_per_clock);
  for (std::size_t c = 0; c < command_count; ++c) {
    bus_ticks_.at(c) = bus_ticks(timing, static_cast<Command>(c));
  }
}

void BurstChannel::advance(Offered& offered, Tick limit, std::vector<IssuedCommand>* trace) {
  trace_ = trace;
  feed_.offer(offered);
  places_freed_ = true;
  while (step(offered, limit)) {
  }
}

bool BurstChannel::is_idle() const {
  return queue_.size(Direction::read) == 0 && queue_.size(Direction::write) == 0 &&
         queue_.aside().empty() && !refresh_.is_owed();
}

bool BurstChannel::step(Offered& offered, Tick limit) {
  if (now_ > limit) {  // what else arrives by then is not known yet
    return false;
  }
  if (places_freed_) {
    fill(offered);
  }
  if (is_idle()) {
    if (feed_.next_arrival() == never && limit == never) {
      return false;
    }
    skip_idle_refreshes(limit);
  }
  choose();
  Tick tick = std::min(choice_[0].tick, choice_[1].tick);
  const Tick second = std::max(now_, second_from_);
  const bool is_second = second_from_ != never && (second < tick || second >= second_deadline_);
  tick = is_second ? second : tick;
  if (fill_deferred_) {
    fill_deferred_ = false;
    places_freed_ = true;
    if (tick > now_) {
      ++now_;
      return true;
    }
  }
  const Tick wake = std::min(feed_.next_arrival(), refresh_.due());
  if (std::min(tick, wake) > limit) {
    return false;
  }
  if (wake <= tick) {  // something else becomes possible first
    now_ = std::max(now_, wake);
    if (refresh_.due() <= now_) {
      refresh_.raise();
    } else {
      places_freed_ = true;
    }
    return true;
  }
  if (is_second) {
    issue_second_half();
  } else if (choice_[0].tick == tick && is_column(choice_[0].command)) {
    issue_column(offered, choice_[0]);
  } else {
    issue_row(choice_[choice_[0].tick == tick ? 0 : 1]);
  }
  return true;
}

void BurstChannel::fill(const Offered& offered) {
  const auto allows = [this](Direction direction) { return queue_.has_room(direction); };
  Burst burst;
  while (feed_.take(offered, now_, allows, burst)) {
    const Place place = map_.place(burst.number);
    queue_.push(burst.direction, place.bank, place.row, burst.transaction);
    if (queue_.open_row(place.bank) == place.row) {
      expect_hit(burst.direction, place.bank);
    } else {
      expect_miss(burst.direction, place.bank);
    }
  }
  places_freed_ = false;
}

void BurstChannel::skip_idle_refreshes(Tick limit) {
  if (banks_open_ == 0 && trace_ == nullptr) {
    const std::uint64_t skipped = refresh_.skip(std::min(feed_.next_arrival(), limit));
    (refresh_.of_one_bank() ? counters_.refreshes_bank : counters_.refreshes_all) += skipped;
  }
}

Direction BurstChannel::direction_in_turn() {
  const std::size_t reads = queue_.size(Direction::read);
  const std::size_t writes = queue_.size(Direction::write);
  if (drains_writes_) {
    drains_writes_ = reads == 0 || writes > config_.controller.write_drain_to;
  } else {
    drains_writes_ = reads == 0 || writes >= config_.controller.write_drain_from;
  }
  return drains_writes_ ? Direction::write : Direction::read;
}

/// A candidate has come about.
void BurstChannel::expect_hit(Direction direction, std::uint32_t bank) {
  Tick& from = hits_from_[side(direction)];
  from = std::min(from, times_.of(access(direction), bank));
}

void BurstChannel::expect_miss(Direction direction, std::uint32_t bank) {
  const bool is_open = queue_.open_row(bank) != no_row;
  Tick& from = misses_from_[side(direction)];
  from = std::min(from, times_.of(is_open ? Command::precharge : Command::activate, bank));
}

void BurstChannel::choose() {
  choice_ = {};
  for (const Candidate& candidate : queue_.aside()) {
    const Command command = access(queue_.request(candidate.request).direction);
    choice_[0].consider(legal(command, candidate.bank), 0, command, candidate);
  }
  if (refresh_.is_owed()) {
    consider_refresh();
    if (!refresh_.of_one_bank()) {
      return;
    }
  }
  const Direction direction = direction_in_turn();
  if (hits_from_[side(direction)] <= choice_[0].tick) {
    consider_hits(direction);
  }
  if (misses_from_[side(direction)] <= std::min(choice_[0].tick, choice_[1].tick)) {
    consider_misses(direction);
  }
}

void BurstChannel::consider_refresh() {
  const std::uint32_t bank = refresh_.bank();
  Command command = Command::refresh_all;
  if (refresh_.of_one_bank()) {
    if (queue_.has_aside(bank)) {
      return;  // whose access goes first
    }
    const bool is_open = queue_.open_row(bank) != no_row;
    command = is_open ? Command::precharge : Command::refresh_bank;
  } else if (const std::uint32_t rank = times_.rank_of(bank); open_banks_[rank] > 0) {
    if (aside_[rank] > 0) {
      return;
    }
    command = Command::precharge_all;
  }
  choice_[bus_of(command)].consider(legal(command, bank), refresh_key, command,
                                    {0, nobody, bank, 0});
}

// Both lists are oldest first, so that the first candidate of the earliest possible tick is the
// right one and no further one need be looked at.
void BurstChannel::consider_hits(Direction direction) {
  const Command command = access(direction);
  const Tick floor = on_edge(std::max({now_, bus_free_[0], times_.floor(command)}));
  if (choice_[0].tick <= floor) {
    return;
  }
  const std::uint32_t barred = refresh_.is_owed() ? refresh_.bank() : no_row;
  Tick least = never;
  for (Candidate& candidate : queue_.hits(direction)) {
    if (candidate.from <= choice_[0].tick) {
      candidate.from = legal(command, candidate.bank);
      if (candidate.bank != barred) {
        choice_[0].consider(candidate.from, queued_key, command, candidate);
      }
    }
    least = std::min(least, candidate.from);
    if (candidate.from == floor && candidate.bank != barred) {
      break;
    }
  }
  hits_from_[side(direction)] = least;
}

void BurstChannel::consider_misses(Direction direction) {
  const std::uint32_t barred = refresh_.is_owed() ? refresh_.bank() : no_row;
  Choice& choice = choice_[bus_of(Command::activate)];
  const Tick floor = std::max(now_, bus_free_[bus_of(Command::activate)]);
  Tick least = never;
  for (Candidate& candidate : queue_.misses(direction)) {
    if (candidate.from > std::min(choice_[0].tick, choice.tick)) {
      least = std::min(least, candidate.from);
      continue;
    }
    const std::uint32_t bank = candidate.bank;
    const bool is_open = queue_.open_row(bank) != no_row;
    const Command command = is_open ? Command::precharge : Command::activate;
    candidate.from = legal(command, bank);
    least = std::min(least, candidate.from);
    if (bank == barred || (is_open ? queue_.has_aside(bank) : second_from_ != never)) {
      continue;
    }
    choice.consider(candidate.from, queued_key, command, candidate);
    if (candidate.from == floor) {
      break;
    }
  }
  misses_from_[side(direction)] = least;
}

void BurstChannel::record(Command command, std::uint32_t bank, std::uint32_t row, Tick tick,
                          bool implied) {
  if (trace_ != nullptr) {
    trace_->push_back({tick, command, number_, bank, row, implied});
  }
}

void BurstChannel::put_on_bus(Command command, std::uint32_t bank, std::uint32_t row, Tick tick) {
  const std::size_t bus = bus_of(command);
  bus_free_[bus] = tick + bus_ticks_[index_of(command)];
  times_.issued(command, bank, tick);
  record(command, bank, row, tick, false);
  now_ = tick + 1;
}

bool BurstChannel::start_data_clock(Choice& choice) {
  const Timing& timing = config_.timing;
  if (timing.data_clock_sync == 0) {
    return true;
  }
  if (choice.tick >= data_clock_until_) {
    if (second_deadline_ <= choice.tick + 1) {
      return false;  // the second half of the activate would come too late
    }
    put_on_bus(Command::start_data_clock, choice.bank, 0, choice.tick);
    choice.tick += static_cast<Tick>(timing.data_clock_sync);
  }
  const Tick end = choice.command == Command::read ? read_end_ : write_end_;
  data_clock_until_ = choice.tick + end + static_cast<Tick>(timing.data_clock_hold);
  return true;
}

void BurstChannel::issue_column(Offered& offered, Choice choice) {
  const bool row_at_once = row_bus_ && choice_[1].tick == choice.tick;
  if (!start_data_clock(choice)) {
    issue_second_half();
    return;
  }
  const Request request = queue_.request(choice.request);
  put_on_bus(choice.command, choice.bank, request.row, choice.tick);
  if (queue_.has_aside(choice.bank) && choice.key < refresh_key) {
    --aside_[times_.rank_of(choice.bank)];
  } else {
    places_freed_ = true;
  }
  queue_.remove(choice.request);

  const bool is_read = choice.command == Command::read;
  ++(is_read ? counters_.read_bursts : counters_.write_bursts);
  Progress& progress = offered.transactions[request.transaction];
  progress.end = std::max(progress.end, choice.tick + (is_read ? read_end_ : write_end_));
  --progress.bursts_left;
  if (config_.controller.page_policy == PagePolicy::closed) {
    close_behind(choice.bank, choice.tick);
  }
  if (row_at_once) {  // the other bus may still issue at this tick, before the queue is filled
    now_ = choice.tick;
    fill_deferred_ = places_freed_;
    places_freed_ = false;
  }
}

/// The precharge that the access carried along, if the queue holds no other for its row.
void BurstChannel::close_behind(std::uint32_t bank, Tick tick) {
  if (queue_.has_aside(bank) || queue_.has_hit(bank)) {
    return;
  }
  const Tick at = std::max(tick, times_.of(Command::precharge, bank));
  times_.issued(Command::precharge, bank, at);
  record(Command::precharge, bank, 0, at, true);
  ++counters_.precharges;
  close_bank(bank);
}

void BurstChannel::close_bank(std::uint32_t bank) {
  queue_.close(bank);
  for (const Direction direction : {Direction::read, Direction::write}) {
    expect_miss(direction, bank);
  }
  --open_banks_[times_.rank_of(bank)];
  --banks_open_;
}

void BurstChannel::issue_second_half() {
  put_on_bus(Command::activate_second, second_bank_, 0, std::max(now_, second_from_));
  second_from_ = never;
  second_deadline_ = never;
}

void BurstChannel::issue_row(const Choice& choice) {
  const std::uint32_t bank = choice.bank;
  if (choice.command == Command::precharge) {
    put_on_bus(choice.command, bank, 0, choice.tick);
    ++counters_.precharges;
    close_bank(bank);
    return;
  }
  if (choice.command != Command::activate) {
    issue_refresh(choice);
    return;
  }
  put_on_bus(choice.command, bank, queue_.request(choice.request).row, choice.tick);
  queue_.open_for(choice.request);
  for (const Direction direction : {Direction::read, Direction::write}) {
    expect_hit(direction, bank);
  }
  ++open_banks_[times_.rank_of(bank)];
  ++aside_[times_.rank_of(bank)];
  ++banks_open_;
  ++counters_.activates;
  places_freed_ = true;
  if (config_.timing.activate_within > 0) {
    second_from_ = choice.tick + 1;
    second_deadline_ = choice.tick + static_cast<Tick>(config_.timing.activate_within);
    second_bank_ = bank;
  }
}

void BurstChannel::issue_refresh(const Choice& choice) {
  put_on_bus(choice.command, choice.bank, 0, choice.tick);
  if (choice.command == Command::precharge_all) {
    ++counters_.precharges_all;
    for (std::uint32_t i = 0; i < refresh_.banks(); ++i) {
      if (queue_.open_row(choice.bank + i) != no_row) {
        close_bank(choice.bank + i);
      }
    }
    return;
  }
  const bool of_all = choice.command == Command::refresh_all;
  refreshed_ = choice.tick;
  ++(of_all ? counters_.refreshes_all : counters_.refreshes_bank);
  refresh_.done();
}

}  // namespace qfs::dram
