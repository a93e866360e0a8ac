// Every key of a DRAM's configuration, once: name, field, what is legal, meaning. The style of
// schema.hpp.
#pragma once

#include "hardware/memory/dram/config.hpp"
#include "sim/config/forms.hpp"
#include "sim/config/key.hpp"

namespace qfs::config {

// Far beyond any memory, and small enough that no sum of clocks or product of counts overflows.
inline constexpr std::uint64_t most_of_a_kind = 4096;
inline constexpr std::uint64_t most_banks = 1024;  // of a channel
inline constexpr std::uint64_t most_rows = std::uint64_t{1} << 24U;
inline constexpr std::uint64_t most_clocks = 1'000'000;
inline constexpr std::uint64_t most_slots = 8;
inline constexpr std::uint64_t longest_queue = 4096;
inline constexpr double longest_clock = 1e-6;  // seconds

template <class Visitor>
void describe(Visitor& visit, dram::Organisation& parts) {
  constexpr Presence required = Presence::required;
  constexpr Count few{1, most_of_a_kind};
  visit.field(
      {"channels", "each with a controller of its own; all counts are powers of two", required},
      parts.channels, few);
  visit.field({"pseudochannels", "of a channel; they share its command bus"}, parts.pseudochannels,
              few);
  visit.field({"ranks", "of a pseudo-channel; they share its data bus"}, parts.ranks, few);
  visit.field({"stacks", "stack ids of a rank"}, parts.stacks, few);
  visit.field({"bankgroups", "bank groups of a stack", required}, parts.bankgroups, few);
  visit.field({"banks", "banks of a bank group", required}, parts.banks, few);
  visit.field({"rows", "of a bank", required}, parts.rows, Count{1, most_rows});
  visit.field({"columns", "words of bus_bits in a row", required}, parts.columns,
              Count{1, most_rows});
  visit.field({"burst_length", "words of bus_bits moved by an access", required},
              parts.burst_length, Count{1, most_of_a_kind});
  visit.field({"bus_bits", "width of a pseudo-channel's data bus", required}, parts.bus_bits,
              Count{8, most_of_a_kind});
}

template <class Visitor>
void describe_access(Visitor& visit, dram::Timing& t) {
  constexpr Presence required = Presence::required;
  constexpr Count clocks{0, most_clocks};
  constexpr Count some{1, most_clocks};
  visit.field({"clock", "period of the command clock", required}, t.clock,
              Measure{Measure::Zero::refused, Measure::Infinite::refused, longest_clock});
  visit.field({"burst", "clocks of data of an access; all further times are clocks too", required},
              t.burst, some);
  visit.field({"read_latency", "CL, RL: from a read to its data", required}, t.read_latency, some);
  visit.field({"write_latency", "CWL, WL: from a write to its data", required}, t.write_latency,
              some);
  visit.field({"rcd_read", "activate to read", required}, t.rcd_read, some);
  visit.field({"rcd_write", "activate to write", required}, t.rcd_write, some);
  visit.field({"rp", "precharge to activate", required}, t.rp, some);
  visit.field({"rp_all", "the same after a precharge of all banks", required}, t.rp_all, some);
  visit.field({"ras", "activate to precharge", required}, t.ras, some);
  visit.field({"rc", "activate to activate of a bank", required}, t.rc, some);
  visit.field({"rrd_s", "activate to activate of a rank", required}, t.rrd_s, clocks);
  visit.field({"rrd_l", "the same within a bank group", required}, t.rrd_l, clocks);
  visit.field({"faw", "activate to the fourth next of a rank", required}, t.faw, clocks);
  visit.field({"ccd_s", "read to read", required}, t.ccd_s, clocks);
  visit.field({"ccd_l", "the same within a bank group", required}, t.ccd_l, clocks);
  visit.field({"ccd_s_write", "write to write", required}, t.ccd_s_write, clocks);
  visit.field({"ccd_l_write", "the same within a bank group", required}, t.ccd_l_write, clocks);
  visit.field({"ccd_other_stack", "access to access of the same kind in another stack"},
              t.ccd_other_stack, clocks);
  visit.field({"rtp", "read to precharge", required}, t.rtp, clocks);
  visit.field({"wr", "end of written data to precharge", required}, t.wr, clocks);
  visit.field({"wtr_s", "end of written data to read", required}, t.wtr_s, clocks);
  visit.field({"wtr_l", "the same within a bank group", required}, t.wtr_l, clocks);
  visit.field({"read_to_write", "read to write", required}, t.read_to_write, some);
  visit.field({"rank_switch", "gap on the data bus between two ranks"}, t.rank_switch, clocks);
  visit.field({"ppd", "precharge to precharge of a rank"}, t.ppd, clocks);
}

template <class Visitor>
void describe_commands(Visitor& visit, dram::Timing& t) {
  constexpr Count clocks{0, most_clocks};
  constexpr Count slots{1, most_slots};
  visit.field({"rfc", "length of a refresh of all banks of a rank"}, t.rfc, clocks);
  visit.field({"rfc_bank", "length of a refresh of one bank"}, t.rfc_bank, clocks);
  visit.field({"rrefd", "refresh of a bank to an activate or refresh of another"}, t.rrefd, clocks);
  visit.field({"refi", "all-bank refreshes are due so often; per_bank: so often for each bank"},
              t.refi, clocks);
  visit.field({"ticks_per_clock", "2: some commands take half a clock"}, t.ticks_per_clock,
              Count{1, 2});
  visit.field({"activate_ticks", "slots of an activate on the command bus"}, t.activate_ticks,
              slots);
  visit.field({"precharge_ticks", "of a precharge"}, t.precharge_ticks, slots);
  visit.field({"refresh_ticks", "of a refresh"}, t.refresh_ticks, slots);
  visit.field({"column_ticks", "of a read or write"}, t.column_ticks, slots);
  visit.field({"row_bus", "whether row commands have a bus of their own"}, t.row_bus, Flag{});
  visit.field({"activate_within",
               "an activate's second half follows at most this much later; 0: it has none"},
              t.activate_within, clocks);
  visit.field({"data_clock_sync", "slots before an access whose data clock has stopped"},
              t.data_clock_sync, Count{0, 1});
  visit.field({"data_clock_hold", "the data clock runs on this long after a burst"},
              t.data_clock_hold, clocks);
}

template <class Visitor>
void describe(Visitor& visit, dram::Timing& timing) {
  describe_access(visit, timing);
  describe_commands(visit, timing);
}

template <class Visitor>
void describe(Visitor& visit, dram::Controller& controller) {
  constexpr Count queue{1, longest_queue};
  visit.field({"read_queue", "reads that a channel's controller chooses from"},
              controller.read_queue, queue);
  visit.field({"write_queue", "the same for writes"}, controller.write_queue, queue);
  visit.field({"write_drain_from", "writes go before reads when so many wait"},
              controller.write_drain_from, queue);
  visit.field({"write_drain_to", "until so few are left"}, controller.write_drain_to,
              Count{0, longest_queue});
  visit.field({"mapping", "fields of an address above the burst, lowest first; each once",
               Presence::required},
              controller.mapping, ListOf<Choice>{});
  visit.field({"page_policy",
               "open: a row stays open; closed: it is closed with the last queued access to it"},
              controller.page_policy, Choice{});
  visit.field({"refresh", "all_bank, per_bank or off"}, controller.refresh, Choice{});
}

template <class Visitor>
void describe(Visitor& visit, dram::Energy& energy) {
  visit.field({"read_per_bit", "picojoules to read a bit"}, energy.read_per_bit, MaybeNumber{});
  visit.field({"write_per_bit", "picojoules to write a bit"}, energy.write_per_bit, MaybeNumber{});
  visit.field({"activate_per_bit", "picojoules of an activate, for each bit of the row"},
              energy.activate_per_bit, MaybeNumber{});
}

template <class Visitor>
void describe(Visitor& visit, dram::DramConfig& config) {
  visit.section({"organisation", "", Presence::required}, config.organisation);
  visit.section({"timing", "", Presence::required}, config.timing);
  visit.section({"controller", "", Presence::required}, config.controller);
  visit.section({"energy", ""}, config.energy);
}

}  // namespace qfs::config
