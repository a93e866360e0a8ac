#include "hardware/memory/dram/stream_bench.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/memory/dram/address_map.hpp"

namespace qfs::dram {
namespace {

constexpr std::int64_t endless = std::int64_t{1} << 50U;
constexpr std::uint64_t uncounted = std::uint64_t{1} << 60U;  // bursts left
constexpr std::size_t bursts_without_intervals = 8192;

/// A channel with its endless streams, and its commands.
struct Bench {
  Bench(const DramConfig& config, const Mix& mix, Tick arrival) : channel(config, mix.channel) {
    for (const Transaction& stream : mix.streams) {
      const auto id = static_cast<std::uint32_t>(offered.transactions.size());
      Transaction one = stream;
      one.length = Bytes(endless);
      offered.transactions.push_back(
          {one, arrival, uncounted, 0, channel.feed().bursts_of_piece(one)});
      offered.streams.push_back({id});
      streams.push_back(id);
    }
    channel.feed().offer(offered);
    for (std::size_t i = 0; i < mix.ahead.size(); ++i) {
      channel.feed().skip(offered, i, static_cast<double>(mix.ahead[i]));
    }
  }
  void run_to(Tick tick) { channel.advance(offered, tick, &trace); }
  [[nodiscard]] std::uint64_t served() const { return channel.counters().bursts(); }

  BurstChannel channel;
  Offered offered;
  std::vector<std::size_t> streams;
  std::vector<IssuedCommand> trace;
};

std::vector<Tick> accesses_of(std::span<const IssuedCommand> trace) {
  std::vector<Tick> ticks;
  for (const IssuedCommand& command : trace) {
    if (is_column(command.command)) {
      ticks.push_back(command.tick);
    }
  }
  return ticks;
}

/// Of a trace without refreshes of all banks.
void note_open_banks(std::span<const IssuedCommand> trace, Rates& rates) {
  rates.open_at = {0};
  double open = 0;
  std::size_t bursts = 0;
  for (const IssuedCommand& command : trace) {
    if (command.command == Command::activate) {
      ++open;
    } else if (command.command == Command::precharge) {
      --open;
    } else if (is_column(command.command) && ++bursts % Course::grain == 0) {
      rates.open_at.push_back(open);
    }
  }
  rates.most_open = *std::max_element(rates.open_at.begin(), rates.open_at.end());
  const auto opened = std::find_if(rates.open_at.begin(), rates.open_at.end(),
                                   [&rates](double banks) { return rates.is_opened(banks); });
  rates.opened_after =
      static_cast<double>((opened - rates.open_at.begin()) * static_cast<int>(Course::grain));
}

/// The tick of the burst that makes `served` full.
Tick time_of_burst(Bench& bench, std::uint64_t served, Tick step) {
  bench.trace.clear();
  Tick tick = bench.channel.now();
  while (bench.served() < served) {
    bench.run_to(tick += step);
  }
  const std::vector<Tick> accesses = accesses_of(bench.trace);
  return accesses[accesses.size() - 1 - static_cast<std::size_t>(bench.served() - served)];
}

/// What a leap costs against going on: the mean over a few places of a run.
void measure_seam(const DramConfig& config, Bench& bench, Tick horizon, Rates& rates) {
  constexpr int places = 6;
  constexpr int parts = 16;  // of the run, in the middle of which the places are
  double lost = 0;
  const auto some = static_cast<std::uint64_t>(settling_bursts(config));
  const Tick step = std::max<Tick>(1, static_cast<Tick>(rates.course.slope()));
  for (int i = 0; i < places; ++i) {
    Tick at = horizon * (places - 2 + i) / parts;
    bench.run_to(at);
    while (bench.channel.owes_refresh()) {  // of one bank
      bench.run_to(at += step);
    }
    Bench leaping = bench;
    const std::uint64_t before = bench.served();
    const double place =
        good_place(config, rates, static_cast<double>(before + some) + rates.period);
    time_of_burst(bench, static_cast<std::uint64_t>(place), step);
    const std::uint64_t over = bench.served() - before;
    leap(leaping.channel, leaping.offered, leaping.streams, rates,
         {bench.channel.now(), static_cast<double>(over), false, static_cast<double>(over)});
    const std::uint64_t goal = bench.served() + some;
    const Tick leapt = time_of_burst(leaping, goal - over, parts * step);
    lost += static_cast<double>(leapt - time_of_burst(bench, goal, parts * step));
  }
  rates.seam = lost / places;
}

/// A run through refreshes of all banks. `counts[k]` bursts were issued before refresh k.
struct Refreshed {
  std::vector<Tick> accesses;
  std::vector<std::size_t> counts;
  std::size_t first = 0;  // of the intervals that count
  double apart = 0;  // half of the ticks from the refresh of the first rank to that of the last

  [[nodiscard]] std::size_t intervals() const { return counts.empty() ? 0 : counts.size() - 1; }
  [[nodiscard]] std::size_t bursts(std::size_t k) const { return counts[k + 1] - counts[k]; }
};

Refreshed refreshed(std::span<const IssuedCommand> trace, Tick interval) {
  Refreshed run;
  Tick first = 0;
  Tick number = 0;
  for (const IssuedCommand& command : trace) {
    if (is_column(command.command)) {
      run.accesses.push_back(command.tick);
    }
    if (command.command != Command::refresh_all) {
      continue;
    }
    if (const Tick of_instant = (command.tick + 1) / interval; of_instant != number) {
      number = of_instant;
      first = command.tick;
      run.counts.resize(static_cast<std::size_t>(number), run.accesses.size());
    }
    run.apart = static_cast<double>(command.tick - first) / 2;
  }
  return run;
}

/// One start, or several, spread over an interval: after each, the bursts of some intervals.
struct Runs {
  std::vector<Refreshed> runs;
  Counters counters;
};

struct Plan {
  std::size_t starts;
  std::size_t intervals;
  std::size_t first = 0;  // that counts
};

/// Streams that fight for banks take ten refreshes and more to find the pace that they keep, by
/// which an end is reckoned (K and V in the same banks of LPDDR5: 977 or 992 bursts an interval, up
/// to 1200 before).
Plan plan_of(const DramConfig& config, const Mix& mix) {
  if (mix.is_sequential()) {
    return {1, 5};
  }
  const bool may_fight =
      mix.streams.size() > 1 || halves_meet(config, AddressMap(config), mix.streams.front());
  return may_fight ? Plan{1, 24, 12} : Plan{3, 4};
}

Runs run_through_refreshes(const DramConfig& config, const Mix& mix, Tick interval) {
  const Plan plan = plan_of(config, mix);
  Runs runs;
  for (std::size_t i = 0; i < plan.starts; ++i) {
    Bench bench(config, mix, interval * static_cast<Tick>(i) / static_cast<Tick>(plan.starts));
    bench.run_to(static_cast<Tick>(plan.intervals + 1) * interval + interval / 2);
    runs.counters += bench.channel.counters();
    runs.runs.push_back(refreshed(bench.trace, interval));
    runs.runs.back().first = plan.first;
  }
  return runs;
}

void note_intervals(const Runs& runs, Tick interval, Rates& rates) {
  double bursts = 0;
  double count = 0;
  for (const Refreshed& run : runs.runs) {
    for (std::size_t k = run.first; k < run.intervals(); ++k) {
      bursts += static_cast<double>(run.bursts(k));
      ++count;
    }
  }
  rates.interval = static_cast<double>(interval);
  rates.of_interval.mean = bursts / count;
  rates.apart = runs.runs.front().apart;
}

/// When the n-th burst after each refresh was issued, in ticks since the refresh was due: the mean,
/// as far as all intervals go.
std::vector<double> mean_course(const Runs& runs, Tick interval) {
  std::size_t fewest = SIZE_MAX;
  double count = 0;
  for (const Refreshed& run : runs.runs) {
    for (std::size_t k = run.first; k < run.intervals(); ++k) {
      fewest = std::min(fewest, run.bursts(k));
      ++count;
    }
  }
  std::vector<double> mean(fewest, 0);
  for (const Refreshed& run : runs.runs) {
    for (std::size_t k = run.first; k < run.intervals(); ++k) {
      const Tick due = static_cast<Tick>(k + 1) * interval - 1;
      for (std::size_t n = 0; n < fewest; ++n) {
        mean[n] += static_cast<double>(run.accesses[run.counts[k] + n] - due) / count;
      }
    }
  }
  return mean;
}

/// Of streams that meet in banks now and then one course is like no other: the mean of those after
/// each refresh is taken, from where a start would have come to the same.
void take_mean_course(const Runs& runs, Tick interval, Rates& rates) {
  constexpr std::size_t begun = 4 * Course::grain;  // bursts
  const std::vector<double> mean = mean_course(runs, interval);
  if (mean.size() < 2 * begun) {
    return;
  }
  rates.restarts.mean = mean[begun - 1] - rates.course.ticks(begun);
  std::vector<Tick> since_start;
  since_start.reserve(mean.size());
  for (const double tick : mean) {
    since_start.push_back(static_cast<Tick>(tick - rates.restarts.mean));
  }
  rates.course = Course(since_start);
  rates.lost_before =
      rates.course.bursts(rates.interval - rates.restarts.mean) - rates.of_interval.mean;
}

/// Mean ticks by which bursts from..to after a refresh come later than after a start at its
/// instant.
double later(const Refreshed& run, double due, double phase, std::pair<double, double> bursts,
             const Rates& rates) {
  double sum = 0;
  for (double n = bursts.first; n < bursts.second; ++n) {
    const Tick at = run.accesses[run.counts.front() + static_cast<std::size_t>(n) - 1];
    sum += static_cast<double>(at) - due - rates.course.ticks_from(phase, n);
  }
  return sum / (bursts.second - bursts.first);
}

/// Parts that nothing fell into get the mean of the others.
ByPhase by_phase(std::vector<double> sums, const std::vector<int>& counts) {
  ByPhase of;
  double filled = 0;
  for (std::size_t part = 0; part < sums.size(); ++part) {
    if (counts[part] > 0) {
      sums[part] /= counts[part];
      of.mean += sums[part];
      ++filled;
    }
  }
  of.mean /= filled;
  for (std::size_t part = 0; part < sums.size(); ++part) {
    sums[part] = counts[part] > 0 ? sums[part] : of.mean;
  }
  of.by_phase = std::move(sums);
  return of;
}

/// Lets a sequential stream meet a refresh at places all over its rows, and then another one.
void measure_restarts(const DramConfig& config, Mix mix, Rates& rates) {
  constexpr std::size_t parts = 64;
  constexpr double seen_from = 64;  // bursts after the refresh
  constexpr std::size_t samples = 16;
  const AddressMap map(config);
  const double due = rates.interval - 1;
  const double lead = rates.course.ticks(rates.period + settling_bursts(config));
  std::vector<double> restarts(parts, 0);
  std::vector<double> bursts(parts, 0);
  std::vector<int> counts(parts, 0);
  rates.catches_up.assign(samples + 1, 0);
  for (std::size_t part = 0; part < parts; ++part) {
    const double start = rates.period * static_cast<double>(part) / parts;
    mix.streams.front().address = map.burst_of(mix.channel, static_cast<std::uint64_t>(start)) *
                                  config.organisation.burst_bytes();
    Bench bench(config, mix, static_cast<Tick>(std::max(0.0, due - lead)));
    bench.run_to(static_cast<Tick>(due + 1.2 * rates.interval));
    const Refreshed run = refreshed(bench.trace, static_cast<Tick>(rates.interval));
    const double phase = std::fmod(start + static_cast<double>(run.counts.front()), rates.period);
    const auto where = static_cast<std::size_t>(phase / rates.period * parts);
    const double begun = later(run, due, phase, {seen_from, seen_from + rates.period}, rates);
    const auto all = static_cast<double>(run.bursts(0));
    for (std::size_t k = 0; k <= samples; ++k) {
      const double middle = std::clamp(all * static_cast<double>(k) / samples,
                                       seen_from + rates.period / 2, all - rates.period / 2);
      const double from = std::ceil(middle - rates.period / 2);
      rates.catches_up[k] +=
          (begun - later(run, due, phase, {from, from + rates.period}, rates)) / parts;
    }
    restarts[where] += begun;
    bursts[where] += all;
    ++counts[where];
  }
  rates.restarts = by_phase(std::move(restarts), counts);
  rates.of_interval = by_phase(std::move(bursts), counts);
}

/// Of runs with refreshes of all banks, beyond what goes with bursts.
void note_row_commands(const Counters& counters, Rates& rates) {
  const auto bursts = static_cast<double>(counters.bursts());
  const auto refreshes = static_cast<double>(counters.refreshes_all);
  const auto note = [&](RowCommands& commands, std::uint64_t count) {
    commands.of_refresh = (static_cast<double>(count) - commands.of(bursts, 0)) / refreshes;
  };
  note(rates.activates, counters.activates);
  note(rates.precharges, counters.precharges);
}

void measure_refresh(const DramConfig& config, const Mix& mix, Rates& rates) {
  const auto interval = static_cast<Tick>(config.timing.refi * config.timing.ticks_per_clock);
  const Runs runs = run_through_refreshes(config, mix, interval);
  note_row_commands(runs.counters, rates);
  note_intervals(runs, interval, rates);
  if (rates.period == 1) {
    take_mean_course(runs, interval, rates);
    return;
  }
  const Refreshed& run = runs.runs.front();
  rates.lost_before =
      rates.course.bursts(rates.interval - 1) - static_cast<double>(run.counts.front());
  const std::vector<double> mean = mean_course(runs, interval);
  constexpr std::size_t begun = 64;  // bursts
  rates.restarts.mean = mean[begun - 1] - rates.course.ticks(begun);
  measure_restarts(config, mix, rates);
}

/// Of a run without refreshes of all banks; false if the channel gets nothing of a stream.
bool note_start(const DramConfig& config, const Mix& mix, const Bench& bench, Rates& rates) {
  const std::vector<Tick> accesses = accesses_of(bench.trace);
  for (const std::size_t stream : bench.streams) {
    const std::uint64_t served = uncounted - bench.offered.transactions[stream].bursts_left;
    if (served == 0) {
      return false;
    }
    rates.shares.push_back(static_cast<double>(served) / static_cast<double>(accesses.size()));
  }
  if (static_cast<double>(accesses.size()) < 4 * settling_bursts(config)) {
    return false;
  }
  rates.course = Course(accesses);
  note_open_banks(bench.trace, rates);
  const std::uint64_t period = AddressMap(config).ranks_of_rows();
  if (mix.is_sequential() && 2 * period <= accesses.size()) {
    rates.period = static_cast<double>(period);
    if (config.controller.refresh != RefreshMode::per_bank) {  // which keeps other times
      rates.course = Course(accesses, period);
    }
  }
  return true;
}

}  // namespace

Rates measure(const DramConfig& config, const Mix& mix) {
  const Timing& timing = config.timing;
  const auto interval = static_cast<Tick>(timing.refi * timing.ticks_per_clock);
  const bool in_intervals = interval > 0 && config.controller.refresh == RefreshMode::all_bank;
  DramConfig without = config;
  Tick horizon = interval;
  if (in_intervals) {
    without.controller.refresh = RefreshMode::off;
  } else {
    const std::size_t clocks = bursts_without_intervals * timing.burst;
    horizon = std::max(3 * interval, static_cast<Tick>(clocks * timing.ticks_per_clock /
                                                       config.organisation.pseudochannels));
  }
  Rates rates;
  Bench bench(without, mix, 0);
  bench.run_to(horizon);
  if (!note_start(config, mix, bench, rates)) {
    return rates;
  }
  const Counters& counters = bench.channel.counters();
  const auto bursts = static_cast<double>(counters.bursts());
  rates.activates.of_burst = static_cast<double>(counters.activates) / bursts;
  rates.precharges.of_burst = static_cast<double>(counters.precharges) / bursts;
  Bench again(without, mix, 0);
  measure_seam(without, again, horizon, rates);
  if (in_intervals) {
    measure_refresh(config, mix, rates);
  }
  rates.is_known = true;
  return rates;
}

}  // namespace qfs::dram
