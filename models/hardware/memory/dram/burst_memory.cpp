#include "hardware/memory/dram/burst_memory.hpp"

#include <algorithm>
#include <cassert>

namespace qfs::dram {

BurstMemory::BurstMemory(const DramConfig& config) : config_(config), clock_(config.timing) {
  channels_.reserve(config.organisation.channels);
  for (std::size_t i = 0; i < config.organisation.channels; ++i) {
    channels_.emplace_back(config, static_cast<std::uint32_t>(i));
  }
}

Femtoseconds BurstMemory::lookahead() const {
  const Timing& timing = config_.timing;
  const std::size_t clocks = std::min(timing.read_latency, timing.write_latency) + timing.burst;
  return clock_.time_of(static_cast<Tick>(clocks * timing.ticks_per_clock) - 1);
}

std::size_t BurstMemory::start(const Transaction& transaction) {
  assert(transaction.length.value() >= 0 && transaction.piece >= 1);
  const Tick arrival = clock_.tick_at(transaction.arrival);
  assert(arrival >= run_to_);
  const std::size_t id = offered_.transactions.size();
  const std::uint64_t bursts = bursts_of(transaction, config_.organisation.burst_bytes());
  offered_.transactions.push_back({transaction, arrival, bursts, arrival});
  if (offered_.streams.size() <= transaction.stream) {
    offered_.streams.resize(transaction.stream + 1);
  }
  offered_.streams[transaction.stream].push_back(static_cast<std::uint32_t>(id));
  return id;
}

void BurstMemory::advance(Tick limit) {
  for (BurstChannel& channel : channels_) {
    channel.advance(offered_, limit, trace_);
  }
}

void BurstMemory::run_until(Femtoseconds time) {
  run_to_ = clock_.tick_at(time);
  advance(run_to_ - 1);
}

void BurstMemory::run() {
  advance(never);
  for (const Progress& progress : offered_.transactions) {
    run_to_ = std::max(run_to_, progress.end);
  }
  advance(run_to_ - 1);  // channels that were done early are refreshed to the end
}

std::optional<Femtoseconds> BurstMemory::end(std::size_t transaction) const {
  const Progress& progress = offered_.transactions[transaction];
  if (progress.bursts_left > 0) {
    return std::nullopt;
  }
  return clock_.time_of(progress.end);
}

Counters BurstMemory::counters() const {
  Counters sum;
  for (const BurstChannel& channel : channels_) {
    sum += channel.counters();
  }
  return sum;
}

double BurstMemory::bus_share(Femtoseconds until) const {
  const Organisation& parts = config_.organisation;
  const double bursts_of_bus = static_cast<double>(counters().bursts()) /
                               static_cast<double>(parts.channels * parts.pseudochannels);
  const double busy =
      bursts_of_bus * static_cast<double>(config_.timing.burst) * config_.timing.clock.value();
  return until.value() == 0 ? 0 : busy / to_seconds(until).value();
}

BurstRun run_bursts(const DramConfig& config, std::span<const Transaction> transactions) {
  BurstMemory memory(config);
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
