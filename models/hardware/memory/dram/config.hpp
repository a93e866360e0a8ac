// What a DRAM is: how it is organised, how long its commands keep each other waiting, how its
// controller queues, maps and refreshes. One set for every tier. Times are whole clocks, as
// standards count them; where some commands take half a clock, ticks_per_clock is 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/units.hpp"

namespace qfs::dram {

/// A part of an address. `column` counts bursts within a row.
enum class Field { channel, pseudochannel, rank, stack, bankgroup, bank, column, row };
inline constexpr std::size_t field_count = 8;

enum class RefreshMode { all_bank, per_bank, off };
/// open: a row stays open until another is wanted. closed: it is closed with the last access that
/// the queue holds for it.
enum class PagePolicy { open, closed };

/// Counts are powers of two. A row has `columns` words of `bus_bits`; a burst moves `burst_length`.
struct Organisation {
  std::size_t channels = 1;
  std::size_t pseudochannels = 1;  // of a channel: share its command bus, each has its data bus
  std::size_t ranks = 1;           // of a pseudo-channel: share its data bus
  std::size_t stacks = 1;          // of a rank: stack ids, dies one behind the other (HBM3)
  std::size_t bankgroups = 1;      // of a stack
  std::size_t banks = 1;           // of a bank group
  std::size_t rows = 1;            // of a bank
  std::size_t columns = 1;         // of a row
  std::size_t burst_length = 1;
  std::size_t bus_bits = 8;  // of a pseudo-channel

  [[nodiscard]] std::uint64_t burst_bytes() const { return burst_length * bus_bits / 8; }
  [[nodiscard]] std::uint64_t bursts_of_row() const { return columns / burst_length; }
  [[nodiscard]] std::uint64_t banks_of_rank() const { return stacks * bankgroups * banks; }
  [[nodiscard]] std::uint64_t banks_of_channel() const {
    return pseudochannels * ranks * banks_of_rank();
  }
  [[nodiscard]] Bytes capacity() const {
    return Bytes(static_cast<std::int64_t>(channels * banks_of_channel() * rows * bursts_of_row() *
                                           burst_bytes()));
  }
  friend bool operator==(const Organisation&, const Organisation&) = default;
};

/// Clocks, unless said otherwise. 0 where a standard has no such rule.
struct Timing {
  Seconds clock{1e-9};  // its period
  std::size_t burst = 0;
  std::size_t read_latency = 0;
  std::size_t write_latency = 0;
  std::size_t rcd_read = 0;
  std::size_t rcd_write = 0;
  std::size_t rp = 0;
  std::size_t rp_all = 0;  // after a precharge of all banks
  std::size_t ras = 0;
  std::size_t rc = 0;
  std::size_t rrd_s = 0;
  std::size_t rrd_l = 0;
  std::size_t faw = 0;
  std::size_t ccd_s = 0;
  std::size_t ccd_l = 0;
  std::size_t ccd_s_write = 0;
  std::size_t ccd_l_write = 0;
  std::size_t ccd_other_stack = 0;
  std::size_t rtp = 0;
  std::size_t wr = 0;
  std::size_t wtr_s = 0;
  std::size_t wtr_l = 0;
  std::size_t read_to_write = 0;  // command to command
  std::size_t rank_switch = 0;    // gap on the data bus between two ranks
  std::size_t ppd = 0;
  std::size_t rfc = 0;
  std::size_t rfc_bank = 0;
  std::size_t rrefd = 0;
  std::size_t refi = 0;  // from one all-bank refresh to the next

  std::size_t ticks_per_clock = 1;
  std::size_t activate_ticks = 1;  // on the command bus
  std::size_t precharge_ticks = 1;
  std::size_t refresh_ticks = 1;
  std::size_t column_ticks = 1;
  bool row_bus = false;             // row commands have a bus of their own (HBM)
  std::size_t activate_within = 0;  // an activate has a second half, at most this much later
  std::size_t data_clock_sync = 0;  // command slot before an access whose data clock has stopped
  std::size_t data_clock_hold = 0;  // the data clock runs on this long after a burst
  friend bool operator==(const Timing&, const Timing&) = default;
};

struct Controller {
  std::size_t read_queue = 32;  // of a channel
  std::size_t write_queue = 32;
  std::size_t write_drain_from = 26;  // writes go before reads from this many on
  std::size_t write_drain_to = 6;     // until there are this few, if reads wait
  std::vector<Field> mapping;         // lowest first, above the burst; each field once
  PagePolicy page_policy = PagePolicy::open;
  RefreshMode refresh = RefreshMode::all_bank;
  friend bool operator==(const Controller&, const Controller&) = default;
};

/// Picojoules. None where no source is known.
struct Energy {
  std::optional<double> read_per_bit;
  std::optional<double> write_per_bit;
  std::optional<double> activate_per_bit;  // of the row that is opened
};

struct DramConfig {
  std::string preset = "custom";  // that it began as
  Organisation organisation;
  Timing timing;
  Controller controller;
  Energy energy;
};

/// What a burst of every pseudo-channel at each of its data bus's turns moves.
inline BytesPerSecond peak_bandwidth(const DramConfig& config) {
  const Organisation& parts = config.organisation;
  const auto at_once =
      static_cast<double>(parts.channels * parts.pseudochannels * parts.burst_bytes());
  const double turn = static_cast<double>(config.timing.burst) * config.timing.clock.value();
  return BytesPerSecond(at_once / turn);
}

}  // namespace qfs::dram

namespace qfs {

template <>
inline constexpr EnumNames<dram::Field, dram::field_count> enum_names<dram::Field>{{
    {dram::Field::channel, "channel"},
    {dram::Field::pseudochannel, "pseudochannel"},
    {dram::Field::rank, "rank"},
    {dram::Field::stack, "stack"},
    {dram::Field::bankgroup, "bankgroup"},
    {dram::Field::bank, "bank"},
    {dram::Field::column, "column"},
    {dram::Field::row, "row"},
}};

template <>
inline constexpr EnumNames<dram::RefreshMode, 3> enum_names<dram::RefreshMode>{{
    {dram::RefreshMode::all_bank, "all_bank"},
    {dram::RefreshMode::per_bank, "per_bank"},
    {dram::RefreshMode::off, "off"},
}};

template <>
inline constexpr EnumNames<dram::PagePolicy, 2> enum_names<dram::PagePolicy>{{
    {dram::PagePolicy::open, "open"},
    {dram::PagePolicy::closed, "closed"},
}};

}  // namespace qfs
