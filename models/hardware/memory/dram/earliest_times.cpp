#include "hardware/memory/dram/earliest_times.hpp"

#include <bit>
#include <cassert>

namespace qfs::dram {
namespace {

unsigned log2_of(std::size_t count) { return static_cast<unsigned>(std::bit_width(count) - 1); }

/// What a longer wait of the same commands in a wider scope makes pointless.
bool is_covered(const Rule& rule, const std::vector<Rule>& rules) {
  const auto covers = [&rule](const Rule& other) {
    return other.from == rule.from && other.to == rule.to && other.window == 1 &&
           other.scope == Scope::pseudochannel && other.ticks >= rule.ticks;
  };
  return rule.window == 1 && rule.scope != Scope::pseudochannel &&
         std::any_of(rules.begin(), rules.end(), covers);
}

}  // namespace

EarliestTimes::EarliestTimes(const DramConfig& config) {
  const Organisation& parts = config.organisation;
  ranks_bits_ = log2_of(parts.ranks);
  stacks_bits_ = log2_of(parts.stacks);
  has_stacks_ = parts.stacks > 1;
  group_.shift = log2_of(parts.banks);
  stack_.shift = group_.shift + log2_of(parts.bankgroups);
  rank_.shift = stack_.shift + stacks_bits_;
  const unsigned bits = log2_of(parts.banks_of_channel());
  for (Level* level : {&bank_, &group_, &stack_, &rank_}) {
    level->bits = bits - level->shift;
  }
  forget();
  const std::vector<Rule> rules = timing_rules(config);
  auto after = std::make_shared<std::array<Delays, command_count>>();
  for (const Rule& rule : rules) {
    if (!is_covered(rule, rules)) {
      add(rule, after->at(index_of(rule.from)));
    }
  }
  after_ = std::move(after);
}

void EarliestTimes::forget() {
  for (Level* level : {&bank_, &group_, &stack_, &rank_}) {
    level->at.assign(command_count << level->bits, 0);
  }
  std::array<Tick, window> none{};
  none.fill(-never);
  last_activates_.assign(std::size_t{1} << rank_.bits, none);
  oldest_.assign(std::size_t{1} << rank_.bits, 0);
}

void EarliestTimes::shift(Tick by) {
  for (Level* level : {&bank_, &group_, &stack_, &rank_}) {
    for (Tick& at : level->at) {
      at += by;
    }
  }
  for (std::array<Tick, window>& ticks : last_activates_) {
    for (Tick& tick : ticks) {
      tick = tick == -never ? tick : tick + by;
    }
  }
}

void EarliestTimes::note(Tick at, std::vector<std::uint64_t>& notes) const {
  std::uint64_t where = 0;
  const auto note_one = [&](Tick tick) {
    ++where;
    if (tick > at) {
      notes.push_back(where);
      notes.push_back(static_cast<std::uint64_t>(tick - at));
    }
  };
  for (const Level* level : {&bank_, &group_, &stack_, &rank_}) {
    std::ranges::for_each(level->at, note_one);
  }
  for (std::size_t rank = 0; rank < oldest_.size(); ++rank) {
    for (std::size_t i = 0; i < window; ++i) {
      note_one(last_activates_[rank][(oldest_[rank] + i) % window] + window_ticks_);
    }
  }
  notes.push_back(0);
}

void EarliestTimes::add(const Rule& rule, Delays& delays) {
  const std::size_t to = index_of(rule.to);
  if (rule.window > 1) {
    assert(rule.window == window && rule.scope == Scope::rank && rule.from == Command::activate &&
           rule.to == Command::activate);
    window_ticks_ = rule.ticks;
    return;
  }
  switch (rule.scope) {
    case Scope::bank:
      delays.bank.push_back({to << bank_.bits, rule.ticks});
      break;
    case Scope::bankgroup:
      delays.group.push_back({to << group_.bits, rule.ticks});
      break;
    case Scope::stack:
      if (has_stacks_) {
        delays.stack.push_back({to << stack_.bits, rule.ticks});
      } else {
        delays.rank.push_back({to << rank_.bits, rule.ticks});
      }
      break;
    case Scope::other_stacks:
      delays.side.push_back({to << stack_.bits, rule.ticks, stacks_bits_, true, true});
      break;
    case Scope::rank:
      delays.rank.push_back({to << rank_.bits, rule.ticks});
      break;
    case Scope::other_ranks:
      delays.side.push_back({to << rank_.bits, rule.ticks, ranks_bits_, false, true});
      break;
    case Scope::pseudochannel:
      if (ranks_bits_ == 0) {
        delays.rank.push_back({to << rank_.bits, rule.ticks});
      } else {
        delays.side.push_back({to << rank_.bits, rule.ticks, ranks_bits_, false, false});
      }
  }
}

void EarliestTimes::apply_side(const SideDelay& delay, std::uint32_t bank, Tick tick) {
  Level& level = delay.of_stacks ? stack_ : rank_;
  const std::size_t own = bank >> level.shift;
  const std::size_t first = own >> delay.block_bits << delay.block_bits;
  for (std::size_t unit = first; unit < first + (std::size_t{1} << delay.block_bits); ++unit) {
    if (unit != own || !delay.without_own) {
      Tick& at = level.at[delay.to + unit];
      at = std::max(at, tick + delay.ticks);
    }
  }
}

void EarliestTimes::apply_window(std::uint32_t bank, Tick tick) {
  const std::uint32_t rank = rank_of(bank);
  std::uint8_t& oldest = oldest_[rank];
  last_activates_[rank][oldest] = tick;
  oldest = static_cast<std::uint8_t>((oldest + 1) % window);
  Tick& at = rank_.at[(index_of(Command::activate) << rank_.bits) + rank];
  at = std::max(at, last_activates_[rank][oldest] + window_ticks_);
}

void EarliestTimes::issued(Command command, std::uint32_t bank, Tick tick) {
  const Delays& delays = (*after_)[index_of(command)];
  apply(delays.bank, bank_, bank, tick);
  apply(delays.group, group_, bank, tick);
  apply(delays.stack, stack_, bank, tick);
  apply(delays.rank, rank_, bank, tick);
  for (const SideDelay& delay : delays.side) {
    apply_side(delay, bank, tick);
  }
  if (command == Command::activate && window_ticks_ > 0) {
    apply_window(bank, tick);
  }
}

}  // namespace qfs::dram
