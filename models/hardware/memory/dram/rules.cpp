#include "hardware/memory/dram/rules.hpp"

#include <iterator>

namespace qfs::dram {
namespace {

/// A rule in clocks, as the standards give it.
struct Nominal {
  Command from{};
  Command to{};
  Scope scope{};
  std::size_t clocks = 0;
  std::size_t window = 1;
};

std::vector<Nominal> column_rules(const Timing& t) {
  using enum Command;
  const std::size_t write_end = t.write_latency + t.burst;
  std::vector<Nominal> rules{
      {read, read, Scope::pseudochannel, t.burst},
      {write, write, Scope::pseudochannel, t.burst},
      {read, read, Scope::stack, t.ccd_s},
      {write, write, Scope::stack, t.ccd_s_write},
      {read, read, Scope::bankgroup, t.ccd_l},
      {write, write, Scope::bankgroup, t.ccd_l_write},
      {read, read, Scope::other_stacks, t.ccd_other_stack},
      {write, write, Scope::other_stacks, t.ccd_other_stack},
      {read, write, Scope::rank, t.read_to_write},
      {write, read, Scope::rank, write_end + t.wtr_s},
      {write, read, Scope::bankgroup, write_end + t.wtr_l},
      {read, read, Scope::other_ranks, t.burst + t.rank_switch},
      {read, write, Scope::other_ranks, t.read_to_write},
      {write, write, Scope::other_ranks, t.burst + t.rank_switch},
  };
  if (write_end + t.rank_switch > t.read_latency) {
    rules.push_back({write, read, Scope::other_ranks, write_end + t.rank_switch - t.read_latency});
  }
  return rules;
}

std::vector<Nominal> row_rules(const Timing& t) {
  using enum Command;
  const std::size_t write_end = t.write_latency + t.burst;
  return {
      {activate, read, Scope::bank, t.rcd_read},
      {activate, write, Scope::bank, t.rcd_write},
      {activate, precharge, Scope::bank, t.ras},
      {activate, activate, Scope::bank, t.rc},
      {activate, activate, Scope::bankgroup, t.rrd_l},
      {activate, activate, Scope::rank, t.rrd_s},
      {activate, activate, Scope::rank, t.faw, 4},
      {activate, precharge_all, Scope::rank, t.ras},
      {read, precharge, Scope::bank, t.rtp},
      {read, precharge_all, Scope::rank, t.rtp},
      {write, precharge, Scope::bank, write_end + t.wr},
      {write, precharge_all, Scope::rank, write_end + t.wr},
      {precharge, activate, Scope::bank, t.rp},
      {precharge_all, activate, Scope::rank, t.rp_all},
      {precharge, precharge, Scope::rank, t.ppd},
      {precharge, precharge_all, Scope::rank, t.ppd},
      {precharge_all, precharge, Scope::rank, t.ppd},
      {precharge_all, precharge_all, Scope::rank, t.ppd},
  };
}

std::vector<Nominal> refresh_rules(const Timing& t) {
  using enum Command;
  return {
      {activate, refresh_all, Scope::rank, t.rc},
      {precharge, refresh_all, Scope::rank, t.rp},
      {precharge_all, refresh_all, Scope::rank, t.rp},
      {refresh_all, activate, Scope::rank, t.rfc},
      {refresh_all, precharge_all, Scope::rank, t.rfc},
      {refresh_all, refresh_all, Scope::rank, t.rfc},
      {activate, refresh_bank, Scope::bank, t.rc},
      {activate, refresh_bank, Scope::rank, t.rrd_s},
      {precharge, refresh_bank, Scope::bank, t.rp},
      {refresh_bank, activate, Scope::bank, t.rfc_bank},
      {refresh_bank, activate, Scope::rank, t.rrefd},
      {refresh_bank, refresh_bank, Scope::bank, t.rfc_bank},
      {refresh_bank, refresh_bank, Scope::rank, t.rrefd},
  };
}

bool has_scope(const Organisation& parts, Scope scope) {
  return (scope != Scope::other_ranks || parts.ranks > 1) &&
         (scope != Scope::other_stacks || parts.stacks > 1);
}

}  // namespace

Tick bus_ticks(const Timing& timing, Command command) {
  switch (command) {
    case Command::activate:
      return static_cast<Tick>(timing.activate_ticks);
    case Command::read:
    case Command::write:
      return static_cast<Tick>(timing.column_ticks);
    case Command::precharge:
    case Command::precharge_all:
      return static_cast<Tick>(timing.precharge_ticks);
    case Command::refresh_all:
    case Command::refresh_bank:
      return static_cast<Tick>(timing.refresh_ticks);
    case Command::activate_second:
    case Command::start_data_clock:
      break;
  }
  return 1;
}

std::vector<Rule> timing_rules(const DramConfig& config) {
  const Timing& timing = config.timing;
  std::vector<Nominal> nominal = column_rules(timing);
  for (const std::vector<Nominal>& more : {row_rules(timing), refresh_rules(timing)}) {
    nominal.insert(nominal.end(), more.begin(), more.end());
  }
  std::vector<Rule> rules;
  for (const Nominal& one : nominal) {
    if (one.clocks == 0 || !has_scope(config.organisation, one.scope)) {
      continue;
    }
    const Tick ticks = static_cast<Tick>(one.clocks * timing.ticks_per_clock) +
                       bus_ticks(timing, one.from) - bus_ticks(timing, one.to);
    rules.push_back({one.from, one.to, one.scope, ticks, one.window});
  }
  return rules;
}

}  // namespace qfs::dram
