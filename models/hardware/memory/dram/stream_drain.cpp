// What writes cost reads that go on beside them, measured on the command-level channel.
#include <algorithm>
#include <cmath>

#include "hardware/memory/dram/stream_bench.hpp"

namespace qfs::dram {
namespace {

constexpr std::int64_t endless = std::int64_t{1} << 50U;
constexpr std::uint64_t uncounted = std::uint64_t{1} << 60U;  // bursts left
constexpr std::uint32_t writes_beside = 1;                    // stream and transaction

/// A channel without refreshes, and the commands that it has issued.
struct Bench {
  Bench(const DramConfig& config, std::uint32_t number) : channel(config, number) {
    channel.stop_refreshes();
  }
  /// In a stream of its own.
  void add(const Transaction& transaction, Tick arrival) {
    const auto id = static_cast<std::uint32_t>(offered.transactions.size());
    const double of_piece = channel.feed().bursts_of_piece(transaction);
    offered.transactions.push_back({transaction, arrival, uncounted, 0, of_piece});
    offered.streams.push_back({id});
    channel.feed().offer(offered);
  }
  void run_to(Tick tick) { channel.advance(offered, tick, &trace); }
  [[nodiscard]] std::uint64_t served() const { return channel.counters().read_bursts; }
  /// The tick of the read that makes `count` full.
  [[nodiscard]] Tick time_of_read(std::uint64_t count) const {
    for (const IssuedCommand& command : trace) {
      if (command.command == Command::read && --count == 0) {
        return command.tick;
      }
    }
    return never;
  }

  BurstChannel channel;
  Offered offered;
  std::vector<IssuedCommand> trace;
};

std::uint64_t bursts_in(const DramConfig& config, std::uint32_t channel,
                        const Transaction& transaction) {
  const AddressMap map(config);
  const std::uint64_t burst_bytes = config.organisation.burst_bytes();
  std::uint64_t bursts = 0;
  for (std::uint64_t piece = 0; piece < transaction.pieces(); ++piece) {
    const std::uint64_t at = transaction.piece_address(piece);
    const std::uint64_t first = at / burst_bytes;
    const std::uint64_t past =
        first + bursts_touched(at, transaction.piece_bytes(piece), burst_bytes);
    bursts += map.rank_in(channel, past) - map.rank_in(channel, first);
  }
  return bursts;
}

}  // namespace

WriteDrain measure_drain(const DramConfig& config, const Mix& mix, const Transaction& writes) {
  const std::uint64_t count = bursts_in(config, mix.channel, writes);
  const auto settling = static_cast<std::uint64_t>(settling_bursts(config));
  const auto step = static_cast<Tick>(settling_clocks(config) * config.timing.ticks_per_clock / 8);
  WriteDrain drain;
  if (count < config.controller.write_drain_from) {
    return drain;
  }
  Transaction sweep = mix.streams.front();
  sweep.length = Bytes(endless);
  Bench without(config, mix.channel);
  without.add(sweep, 0);
  Tick arrival = 0;
  while (without.served() < 2 * settling) {
    without.run_to(arrival += step);
  }
  Bench with = without;
  Tick tick = arrival;
  with.add(writes, tick);
  do {
    with.run_to(tick += step);
  } while (with.channel.feed().has_next(writes_beside) || with.channel.drains_writes() ||
           with.channel.queued(Direction::write) >= config.controller.write_drain_from);
  const std::uint64_t served = with.served() + settling;
  while (with.served() < served) {
    with.run_to(tick += step);
  }
  for (tick = arrival; without.served() < served;) {
    without.run_to(tick += step);
  }
  // Those for which rows were opened but that have not been drained take their share as well.
  drain.left = with.channel.queued(Direction::write);
  const std::uint64_t drained = count - with.channel.waiting(writes_beside);
  drain.is_known = drain.left > 0 && drained > 0;
  if (!drain.is_known) {
    return drain;
  }
  const auto later = static_cast<double>(with.time_of_read(served) - without.time_of_read(served));
  const double share = static_cast<double>(count - drain.left) / static_cast<double>(drained);
  const auto more = [](std::uint64_t ours, std::uint64_t theirs) {
    return static_cast<double>(ours) - static_cast<double>(theirs);
  };
  const Counters& ours = with.channel.counters();
  const Counters& theirs = without.channel.counters();
  drain.ticks = std::max(0.0, later * share);
  drain.activates = more(ours.activates, theirs.activates);
  drain.precharges = more(ours.precharges, theirs.precharges);
  return drain;
}

}  // namespace qfs::dram
