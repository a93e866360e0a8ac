#include "sim/crossover/gain_study.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include "sim/config/system_config.hpp"
#include "sim/report/steps.hpp"
#include "sim/run/achieved.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/points.hpp"
#include "system/simulation.hpp"

namespace qfs {
namespace {

constexpr std::size_t most_positions = std::size_t{1} << 30U;
constexpr Seconds longest_latency{1};
constexpr double rounding = 1e-9;  // less than this is no gain

/// Times only, of one token of alike requests.
RunConfig one_token(RunConfig run) {
  run.workload.tokens = 1;
  run.workload.contexts.clear();
  run.workload.request_contexts.clear();
  run.workload.request_tokens.clear();
  run.numerics.mode = NumericsMode::off;
  run.numerics.inject = {};
  run.faults = {};
  return run;
}

/// Remembers: a search comes back to where it was.
class GainOf {
 public:
  GainOf(const RunConfig& run, const StepTimer& timer) : run_(one_token(run)), timer_(timer) {}

  /// -1 where a time is not known.
  double operator()(std::size_t context) {
    const auto [at, is_new] = known_.try_emplace(context, -1);
    if (is_new) {
      const std::optional<Seconds> own = time(run_.block, context);
      const std::optional<Seconds> standard = time(BlockOrder::standard, context);
      if (own && standard) {
        at->second = standard->value() / own->value() - 1;
      }
    }
    return at->second;
  }

 private:
  [[nodiscard]] std::optional<Seconds> time(BlockOrder block, std::size_t context) const {
    RunConfig run = run_;
    run.block = block;
    run.workload.context = context;
    return timer_(run);
  }

  RunConfig run_;
  const StepTimer& timer_;
  std::map<std::size_t, double> known_;
};

/// The maximum between two contexts, of a gain that rises to it and falls.
std::size_t peak_between(GainOf& gain, std::size_t low, std::size_t high) {
  while (high - low > 2) {
    const std::size_t left = low + (high - low) / 3;
    const std::size_t right = high - (high - low) / 3;
    if (gain(left) < gain(right)) {
      low = left;
    } else {
      high = right;
    }
  }
  std::size_t best = low;
  for (std::size_t context = low; context <= high; ++context) {
    best = gain(context) > gain(best) ? context : best;
  }
  return best;
}

/// The power of two with the largest gain. With DRAM small contexts have maxima of their own, of
/// which each is a refresh more or less: none of the powers can be left out.
std::size_t best_power(GainOf& gain) {
  std::size_t best = 1;
  for (std::size_t context = 1; context <= most_positions; context *= 2) {
    best = gain(context) > gain(best) ? context : best;
  }
  return best;
}

}  // namespace

std::optional<Seconds> simulated_step(const RunConfig& run) {
  const SystemConfig system = timing_config(run, run.block, run.workload.context);
  const std::size_t told = system.graph.contexts.size();  // requests that the table names
  const std::function<double()> task = [&] {
    const RequestSteps steps = request_steps(simulate(system).table, told);
    const auto wave = wave_steps(std::span(steps).first(told / run.workload.in_flight));
    return to_seconds(wave.front().length()).value();
  };
  return Seconds(run_isolated<double>({task}, 1).front());
}

std::optional<Seconds> closed_form_step(const RunConfig& run) {
  const std::optional<AchievedBandwidth> achieved = achieved_bandwidth(run);
  const auto times =
      closed_form(achieved ? at_achieved(run, *achieved) : run, run.block, run.workload.context);
  return times ? std::optional(times->step_times.front()) : std::nullopt;
}

GainStudy study_gain(const RunConfig& run, double share, const StepTimer& timer) {
  assert(share > 0);
  GainOf gain(run, timer);
  const std::size_t power = best_power(gain);
  GainStudy study;
  if (gain(power) <= rounding) {
    return study;
  }
  const std::size_t best = peak_between(gain, power / 2, 2 * power);
  study.largest = Gain{best, gain(best)};
  if (gain(best) < share) {
    return study;
  }
  std::size_t low = best;
  std::size_t high = std::max<std::size_t>(1, 2 * best);  // a link can be hidden from 0 on
  while (high <= most_positions && gain(high) >= share) {
    low = high;
    high *= 2;
  }
  if (high > most_positions) {
    return study;
  }
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (gain(middle) >= share ? low : high) = middle;
  }
  study.falls_below = high;
  return study;
}

std::optional<Seconds> break_even_latency(const RunConfig& run, const StepTimer& timer) {
  RunConfig one = one_token(run);
  one.arrangement = Arrangement::colocated;
  one.block = BlockOrder::standard;
  const std::optional<Seconds> alone = timer(one);
  RunConfig two = one_token(run);
  const auto slower_at = [&](Seconds latency) {
    two.link.latency = latency;
    const std::optional<Seconds> step = timer(two);
    return !step || *step > *alone;
  };
  if (!alone || slower_at(Seconds(0)) || !slower_at(longest_latency)) {
    return std::nullopt;
  }
  double low = 0;
  double high = longest_latency.value();
  constexpr double resolution = 1e-12;  // seconds
  while (high - low > resolution) {
    const double middle = (low + high) / 2;
    (slower_at(Seconds(middle)) ? high : low) = middle;
  }
  return Seconds(low);
}

std::optional<StepPair> steps_of(const RunConfig& run, const StepTimer& timer) {
  RunConfig timed = one_token(run);
  const std::optional<Seconds> own = timer(timed);
  timed.block = BlockOrder::standard;
  const std::optional<Seconds> standard = timer(timed);
  return own && standard ? std::optional(StepPair{*own, *standard}) : std::nullopt;
}

std::optional<Seconds> furthest_latency(const RunConfig& run, double share,
                                        const StepTimer& timer) {
  RunConfig moved = run;
  const auto gains_at = [&](double latency) {
    moved.link.latency = Seconds(latency);
    const std::optional<StepPair> steps = steps_of(moved, timer);
    return steps && steps->gain() >= share;
  };
  constexpr double shortest = 1e-9;
  double high = longest_latency.value();
  double low = high;
  while (low > shortest && !gains_at(low)) {
    high = low;
    low /= 2;
  }
  if (low <= shortest || low == high) {
    return std::nullopt;
  }
  while (high - low > shortest) {
    const double middle = (low + high) / 2;
    (gains_at(middle) ? low : high) = middle;
  }
  return Seconds(low);
}

}  // namespace qfs
