#include "tests/dram/trace_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "hardware/memory/dram/rules.hpp"

namespace qfs::test {
namespace {

using dram::Command;
using dram::DramConfig;
using dram::IssuedCommand;
using dram::Rule;
using dram::Scope;
using dram::Tick;

const char* name(Command command) {
  constexpr const char* names[] = {
      "activate",    "read",         "write",           "precharge",       "precharge_all",
      "refresh_all", "refresh_bank", "activate_second", "start_data_clock"};
  return names[dram::index_of(command)];
}

/// The numbers of a bank, counted out by division.
struct Where {
  std::size_t group, stack, rank, pseudochannel;
  Where(const dram::Organisation& parts, std::uint32_t bank)
      : group(bank / parts.banks),
        stack(group / parts.bankgroups),
        rank(stack / parts.stacks),
        pseudochannel(rank / parts.ranks) {}
};

bool holds(const DramConfig& config, Scope scope, std::uint32_t one, std::uint32_t other) {
  const Where a(config.organisation, one);
  const Where b(config.organisation, other);
  switch (scope) {
    case Scope::bank:
      return one == other;
    case Scope::bankgroup:
      return a.group == b.group;
    case Scope::stack:
      return a.stack == b.stack;
    case Scope::other_stacks:
      return a.rank == b.rank && a.stack != b.stack;
    case Scope::rank:
      return a.rank == b.rank;
    case Scope::other_ranks:
      return a.pseudochannel == b.pseudochannel && a.rank != b.rank;
    case Scope::pseudochannel:
      return a.pseudochannel == b.pseudochannel;
  }
  return false;
}

class Check {
 public:
  Check(const DramConfig& config, std::vector<IssuedCommand> of_channel)
      : config_(config), trace_(std::move(of_channel)), rules_(dram::timing_rules(config)) {
    std::ranges::stable_sort(trace_, {}, &IssuedCommand::tick);
  }

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      check_rules(i);
      check_command_bus(i);
      check_data_bus(i);
    }
    check_rows();
    check_halves();
    check_data_clock();
    check_refreshes();
    return std::move(mistakes_);
  }

 private:
  void complain(const IssuedCommand& command, const std::string& what) {
    mistakes_.push_back(fmt::format("channel {} tick {} {} bank {}: {}", command.channel,
                                    command.tick, name(command.command), command.bank, what));
  }

  void check_rules(std::size_t i) {
    const IssuedCommand& to = trace_[i];
    for (const Rule& rule : rules_) {
      if (rule.to != to.command) {
        continue;
      }
      std::size_t matching = 0;
      for (std::size_t j = i; j-- > 0 && trace_[j].tick > to.tick - rule.ticks;) {
        const IssuedCommand& from = trace_[j];
        if (rule.from == from.command && holds(config_, rule.scope, from.bank, to.bank) &&
            ++matching == rule.window) {
          complain(to, fmt::format("{} ticks after {} of bank {}, not {}", to.tick - from.tick,
                                   name(from.command), from.bank, rule.ticks));
          break;
        }
      }
    }
  }

  [[nodiscard]] bool same_bus(Command one, Command other) const {
    return !config_.timing.row_bus || dram::is_column(one) == dram::is_column(other);
  }

  void check_command_bus(std::size_t i) {
    const IssuedCommand& to = trace_[i];
    if (to.implied) {
      return;
    }
    const auto edge = static_cast<Tick>(config_.timing.ticks_per_clock);
    const bool precharges =
        to.command == Command::precharge || to.command == Command::precharge_all;
    if (to.tick % edge != 0 && !precharges) {
      complain(to, "between clock edges");
    }
    for (std::size_t j = i; j-- > 0 && trace_[j].tick > to.tick - 16;) {
      const IssuedCommand& from = trace_[j];
      if (!from.implied && same_bus(from.command, to.command) &&
          from.tick + dram::bus_ticks(config_.timing, from.command) > to.tick) {
        complain(to, fmt::format("the bus still carries {}", name(from.command)));
      }
    }
  }

  [[nodiscard]] Tick data_from(const IssuedCommand& access) const {
    const dram::Timing& timing = config_.timing;
    const std::size_t latency =
        access.command == Command::read ? timing.read_latency : timing.write_latency;
    return access.tick + static_cast<Tick>(latency * timing.ticks_per_clock);
  }

  void check_data_bus(std::size_t i) {
    const IssuedCommand& later = trace_[i];
    if (!dram::is_column(later.command)) {
      return;
    }
    const auto burst = static_cast<Tick>(config_.timing.burst * config_.timing.ticks_per_clock);
    constexpr Tick longest = 1000;  // latencies and bursts together
    for (std::size_t j = i; j-- > 0 && trace_[j].tick > later.tick - longest;) {
      const IssuedCommand& earlier = trace_[j];
      if (dram::is_column(earlier.command) &&
          holds(config_, Scope::pseudochannel, earlier.bank, later.bank) &&
          data_from(earlier) + burst > data_from(later) &&
          data_from(later) + burst > data_from(earlier)) {
        complain(later, fmt::format("its data meets that of tick {}", earlier.tick));
      }
    }
  }

  void check_rows() {
    std::map<std::uint32_t, std::uint32_t> open;
    const std::uint64_t banks_of_rank = config_.organisation.banks_of_rank();
    for (const IssuedCommand& command : trace_) {
      const auto row = open.find(command.bank);
      const bool is_open = row != open.end();
      const auto of_rank = [&](const auto& entry) {
        return entry.first / banks_of_rank == command.bank / banks_of_rank;
      };
      switch (command.command) {
        case Command::activate:
          if (is_open) {
            complain(command, "already open");
          }
          open[command.bank] = command.row;
          break;
        case Command::read:
        case Command::write:
          if (!is_open || row->second != command.row) {
            complain(command, "its row is not open");
          }
          break;
        case Command::precharge:
          open.erase(command.bank);
          break;
        case Command::precharge_all:
          std::erase_if(open, of_rank);
          break;
        case Command::refresh_all:
          if (std::ranges::any_of(open, of_rank)) {
            complain(command, "a bank is open");
          }
          break;
        case Command::refresh_bank:
          if (is_open) {
            complain(command, "it is open");
          }
          break;
        default:
          break;
      }
    }
  }

  void check_halves() {
    const auto within = static_cast<Tick>(config_.timing.activate_within);
    for (std::size_t i = 0; i < trace_.size() && within > 0; ++i) {
      if (trace_[i].command != Command::activate) {
        continue;
      }
      std::size_t j = i + 1;
      while (j < trace_.size() && trace_[j].command != Command::activate_second) {
        if (trace_[j].command == Command::activate || trace_[j].bank == trace_[i].bank) {
          complain(trace_[j], fmt::format("amid the activate of tick {}", trace_[i].tick));
        }
        ++j;
      }
      if (j == trace_.size() || trace_[j].bank != trace_[i].bank ||
          trace_[j].tick - trace_[i].tick > within) {
        complain(trace_[i], "its second half is missing or late");
      }
    }
  }

  void check_data_clock() {
    Tick runs_until = 0;
    Tick started = -1;
    for (const IssuedCommand& command : trace_) {
      if (command.command == Command::start_data_clock) {
        started = command.tick;
      }
      if (config_.timing.data_clock_sync == 0 || !dram::is_column(command.command)) {
        continue;
      }
      if (command.tick >= runs_until && command.tick != started + 1) {
        complain(command, "the data clock has stopped");
      }
      const auto after = static_cast<Tick>(config_.timing.burst + config_.timing.data_clock_hold);
      runs_until = std::max(runs_until, data_from(command) + after);
    }
  }

  /// Of each rank, or of each bank, in their own sequence.
  void check_refreshes() {
    const dram::RefreshMode mode = config_.controller.refresh;
    std::map<std::uint32_t, Tick> done;
    const auto interval = static_cast<Tick>(config_.timing.refi * config_.timing.ticks_per_clock);
    const bool of_bank = mode == dram::RefreshMode::per_bank;
    for (const IssuedCommand& command : trace_) {
      if (command.command != Command::refresh_all && command.command != Command::refresh_bank) {
        continue;
      }
      if (mode == dram::RefreshMode::off || (command.command == Command::refresh_bank) != of_bank) {
        complain(command, "no such refresh was asked for");
      }
      const Tick before = ++done[command.bank] * interval;
      // Of a bank the first falls anywhere within the first interval.
      if (command.tick < (of_bank ? before - interval : before - 1) ||
          command.tick >= before + interval) {
        complain(command, fmt::format("refresh {} of {} ticks", done[command.bank], interval));
      }
    }
    const std::uint64_t units =
        mode == dram::RefreshMode::off ? 0
        : of_bank                      ? config_.organisation.banks_of_channel()
                  : config_.organisation.banks_of_channel() / config_.organisation.banks_of_rank();
    const Tick end = trace_.empty() ? 0 : trace_.back().tick;
    if (end >= 2 * interval && done.size() != units) {
      complain(trace_.back(), fmt::format("{} of {} were ever refreshed", done.size(), units));
    }
    for (const auto& [bank, count] : done) {
      if (mode != dram::RefreshMode::off && (count + 2) * interval <= end) {
        complain(trace_.back(), fmt::format("bank {}: {} refreshes", bank, count));
      }
    }
  }

  const DramConfig& config_;
  std::vector<IssuedCommand> trace_;
  std::vector<Rule> rules_;
  std::vector<std::string> mistakes_;
};

}  // namespace

std::vector<std::string> mistakes_of(const DramConfig& config,
                                     const std::vector<IssuedCommand>& trace) {
  std::map<std::uint32_t, std::vector<IssuedCommand>> by_channel;
  for (const IssuedCommand& command : trace) {
    by_channel[command.channel].push_back(command);
  }
  std::vector<std::string> mistakes;
  for (auto& [channel, commands] : by_channel) {
    for (std::string& mistake : Check(config, std::move(commands)).run()) {
      mistakes.push_back(std::move(mistake));
    }
  }
  return mistakes;
}

}  // namespace qfs::test
