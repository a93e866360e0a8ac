#include "sim/run/crossover_search.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "analysis/crossover.hpp"
#include "sim/config/schema.hpp"
#include "sim/report/places.hpp"
#include "sim/run/achieved.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/points.hpp"
#include "system/simulation.hpp"

namespace qfs {
namespace {

// The search ends at this many positions per request, or earlier where a step takes so long that
// the femtosecond clock comes near its end.
constexpr std::size_t search_limit = std::size_t{1} << 40U;
constexpr Seconds longest_step{2000};

/// A quantity of one simulated step that grows with the context; the crossover is where it passes
/// zero.
using Excess = std::function<Seconds(const ExecutionTable&)>;

/// One wave of one token by itself, without vocabulary product, numbers or chance. What gathers the
/// requests of several waves has nothing to gather then.
RunConfig lone_wave(RunConfig config) {
  config.workload.in_flight = 1;
  config.workload.request_contexts.clear();
  config.workload.request_tokens.clear();
  config.workload.tokens = 1;
  config.workload.lm_head = false;
  config.pool.instances = 1;
  config.pool.batching = Gather::wave;
  config.pool.sweep_batch = Gather::wave;
  config.pool.window = Seconds(0);
  config.numerics.inject = {};
  config.link.jitter = Seconds(0);
  config.faults = {};
  return config;
}

/// The context at which it does, in closed form.
using Formula = std::optional<double> (*)(const AnalyticParameters&);

double simulated_excess(const RunConfig& config, BlockOrder block, std::size_t context,
                        const Excess& excess) {
  const SystemConfig system = timing_config(config, block, context);
  const std::function<double()> task = [&] { return excess(simulate(system).table).value(); };
  return run_isolated<double>({task}, 1).front();
}

/// Contexts that the search may ask for: a split at random draws every position.
std::size_t last_context(const RunConfig& config) {
  const bool drawn = config.cache.split.by == SplitBy::any;
  return drawn ? config::most_drawn_positions / config.workload.batch : search_limit;
}

/// Smallest context with a positive excess, the excess one position before it, and by how much it
/// grows a position there; of a cache split by positions, as a mean over one for each device.
/// Beyond the crossing it may grow faster: the current token's append runs
/// beside what is left of the sweep.
struct Bracket {
  std::size_t above = 0;
  double excess_below = 0;
  double growth = 0;
  double reach = 1;  // positions over which the growth is a mean
};

class Search {
 public:
  Search(const RunConfig& config, BlockOrder block, Excess excess)
      : config_(config), block_(block), excess_(std::move(excess)) {}

  [[nodiscard]] Crossover run(CrossoverKind kind) const {
    Crossover crossover;
    crossover.kind = kind;
    crossover.block = block_;
    if (excess_at(0) > 0) {
      crossover.state = CrossoverState::exposed_at_0;
    } else if (const std::size_t high = first_power_above(); !within_reach(high)) {
      crossover.state = CrossoverState::never;
      crossover.searched = static_cast<double>(high) / 2;
    } else {
      const Bracket bracket = narrow(high);
      crossover.simulated = interpolate(bracket);
      crossover.first_beyond = bracket.above;
    }
    return crossover;
  }

 private:
  [[nodiscard]] double excess_at(std::size_t context) const {
    return simulated_excess(config_, block_, context, excess_);
  }

  [[nodiscard]] std::size_t first_power_above() const {
    std::size_t context = 1;
    while (within_reach(context) && excess_at(context) <= 0) {
      context *= 2;
    }
    return context;
  }

  [[nodiscard]] bool within_reach(std::size_t context) const {
    RunConfig exact = config_;  // a time as good as that of a calibrated unit, which has no formula
    exact.attention.softmax = {};
    return context <= last_context(config_) &&
           closed_form(exact, block_, context).value().stack_time < longest_step;
  }

  /// `high` has a positive excess, half of it has not.
  [[nodiscard]] Bracket narrow(std::size_t high) const {
    std::size_t low = high / 2;
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (excess_at(middle) > 0 ? high : low) = middle;
    }
    const double below = excess_at(high - 1);
    if (high < 2) {
      return {high, below, excess_at(high) - below, 1};
    }
    const bool by_heads = config_.cache.split.by == SplitBy::heads;
    const std::size_t back = std::min(by_heads ? 1 : config_.cache.split.devices, high - 1);
    const auto reach = static_cast<double>(back);
    return {high, below, (below - excess_at(high - 1 - back)) / reach, reach};
  }

  [[nodiscard]] static double interpolate(const Bracket& bracket) {
    const double missing = -bracket.excess_below;
    const double share = missing <= 0 ? 0 : bracket.growth > 0 ? missing / bracket.growth : 1;
    return static_cast<double>(bracket.above - 1) + std::min(share, bracket.reach);
  }

  const RunConfig& config_;
  BlockOrder block_;
  Excess excess_;
};

/// When what a merge and the output that it feeds wait for has arrived.
struct Arrivals {
  Femtoseconds of_sweep;
  Femtoseconds of_others;

  /// Looks through the merge, and what passes on its result, at what these were given.
  void note_inputs(const ExecutionTable& table, const Row& row) {
    for (const Dependency& dep : row.deps) {
      const Row& operand = table.rows[dep.row.value()];
      if (operand.op == OpKind::merge || operand.op == OpKind::hold) {
        note_inputs(table, operand);
      } else {
        Femtoseconds& latest = is_of_sweep(operand.op) ? of_sweep : of_others;
        latest = std::max(latest, dep.arrival);
      }
    }
  }
};

/// How long the executor of each resource is busy in a layer with the operations that are wanted.
template <class Predicate>
std::vector<Femtoseconds> layer_busy(const ExecutionTable& table, Predicate wanted) {
  std::vector<Femtoseconds> busy(table.resources.size());
  for (const Row& row : table.rows) {
    const bool executor = table.resources[row.resource].kind == ResourceKind::executor;
    if (executor && row.is_operation() && row.layer == LayerId(0) && row.step == StepId(0) &&
        wanted(row.op)) {
      busy[row.resource] += row.end - row.start;
    }
  }
  return busy;
}

/// Of the device that takes longest with them; a sweep of two phases is one.
Femtoseconds longest_of(const ExecutionTable& table, bool (*wanted)(OpKind)) {
  const std::vector<Femtoseconds> busy = layer_busy(table, wanted);
  return *std::max_element(busy.begin(), busy.end());
}

std::optional<double> finite(std::optional<double> value) {
  return value && *value < std::numeric_limits<double>::infinity() ? value : std::nullopt;
}

}  // namespace

Seconds sweep_beyond_ffn(const ExecutionTable& table) {
  const Femtoseconds sweep = longest_of(table, is_of_sweep);
  const Femtoseconds ffn = longest_of(table, [](OpKind op) { return op == OpKind::ffn; });
  return to_seconds(sweep - ffn);
}

Seconds merge_wait(const ExecutionTable& table) {
  Femtoseconds longest(std::numeric_limits<std::int64_t>::min());
  for (const Row& output : table.rows) {
    if (output.is_operation() && output.op == OpKind::o && output.step == StepId(0)) {
      Arrivals arrivals;
      arrivals.note_inputs(table, output);
      longest = std::max(longest, arrivals.of_sweep - arrivals.of_others);
    }
  }
  return to_seconds(longest);
}

Seconds cache_side_beyond_pool(const ExecutionTable& table, const Layout& layout) {
  const Places places(table, layout);
  const std::vector<Femtoseconds> busy = layer_busy(table, [](OpKind) { return true; });
  Femtoseconds cache_side;
  Femtoseconds pool;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    Femtoseconds& side = places.side_of(i) == DeviceSide::cache ? cache_side : pool;
    side = std::max(side, busy[i]);
  }
  return to_seconds(cache_side - pool);
}

std::vector<Crossover> find_crossovers(const RunConfig& config) {
  std::vector<Crossover> crossovers;
  const bool pooled = config.arrangement == Arrangement::pooled;
  if ((config.arrangement != Arrangement::two_device && !pooled) ||
      config.current_token != CurrentToken::merge) {
    return crossovers;
  }
  const RunConfig lone = lone_wave(config);
  const bool in_formula = !lone.attention.softmax.is_calibrated() &&
                          lone.cache.policy.prefetch.ahead == 0 &&
                          lone.cache.policy.append_delay == Seconds(0);
  const std::optional<AchievedBandwidth> achieved = achieved_bandwidth(lone);
  const auto find = [&](CrossoverKind kind, BlockOrder block, const Excess& excess,
                        const Formula& formula) {
    const auto of = [&](const RunConfig& run) {
      return in_formula ? finite(formula(analytic_parameters(run, block, 0))) : std::nullopt;
    };
    crossovers.push_back(Search(lone, block, excess).run(kind));
    crossovers.back().closed_form = of(lone);
    crossovers.back().achieved = achieved ? of(at_achieved(lone, *achieved)) : std::nullopt;
  };
  find(CrossoverKind::ffn, config.block, sweep_beyond_ffn, ffn_crossover);
  if (pooled) {
    const Layout layout = layout_of(system_config(lone, config.block, 0));
    find(
        CrossoverKind::busy, config.block,
        [&layout](const ExecutionTable& table) { return cache_side_beyond_pool(table, layout); },
        busy_crossover);
  }
  for (const BlockOrder block : blocks_of(config)) {
    find(CrossoverKind::latency, block, merge_wait,
         pooled ? pooled_latency_crossover : latency_crossover);
  }
  return crossovers;
}

}  // namespace qfs
