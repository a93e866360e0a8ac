#include "sim/run/crossover_search.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "analysis/crossover.hpp"
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

const Row& row_of(const ExecutionTable& table, OpKind kind) {
  const auto found = std::find_if(table.rows.begin(), table.rows.end(), [&](const Row& row) {
    return row.is_operation() && row.op == kind;
  });
  if (found == table.rows.end()) {
    throw std::logic_error("crossover search: the table lacks an operation");
  }
  return *found;
}

/// The excess in the first step alone, without vocabulary product, numbers or chance.
double simulated_excess(const RunConfig& config, BlockOrder block, std::size_t context,
                        const Excess& excess) {
  RunConfig one = config;
  one.workload.tokens = 1;
  one.workload.lm_head = false;
  one.numerics.inject = {};
  one.link.jitter = Seconds(0);
  const SystemConfig system = system_config(one, block, context);
  const std::function<double()> task = [&] { return excess(simulate(system).table).value(); };
  return run_isolated<double>({task}, 1).front();
}

/// Smallest context with a positive excess, the excess one position before it, and by how much it
/// grows a position there. Beyond the crossing it may grow faster: the current token's append runs
/// beside what is left of the sweep.
struct Bracket {
  std::size_t above = 0;
  double excess_below = 0;
  double growth = 0;
};

class Search {
 public:
  Search(const RunConfig& config, BlockOrder block, Excess excess)
      : config_(config), block_(block), excess_(std::move(excess)) {}

  Crossover run(std::string name) const {
    Crossover crossover{std::move(name), block_, CrossoverState::found, 0, std::nullopt, 0};
    if (excess_at(0) > 0) {
      crossover.state = CrossoverState::exposed_at_0;
    } else if (const std::size_t high = first_power_above(); !within_reach(high)) {
      crossover.state = CrossoverState::never;
      crossover.searched = static_cast<double>(high) / 2;
    } else {
      crossover.simulated = interpolate(narrow(high));
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
    return context <= search_limit &&
           analytic_answer(config_, block_, context).stack_time < longest_step;
  }

  /// `high` has a positive excess, half of it has not.
  [[nodiscard]] Bracket narrow(std::size_t high) const {
    std::size_t low = high / 2;
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (excess_at(middle) > 0 ? high : low) = middle;
    }
    const double below = excess_at(high - 1);
    return {high, below, high >= 2 ? below - excess_at(high - 2) : excess_at(high) - below};
  }

  [[nodiscard]] static double interpolate(const Bracket& bracket) {
    const double share = bracket.growth > 0 ? -bracket.excess_below / bracket.growth : 1;
    return static_cast<double>(bracket.above - 1) + std::min(share, 1.0);
  }

  const RunConfig& config_;
  BlockOrder block_;
  Excess excess_;
};

/// When what a merge and the output that it feeds wait for has arrived.
struct Arrivals {
  Femtoseconds of_sweep;
  Femtoseconds of_others;

  void note(const Row& operand, Femtoseconds arrival) {
    Femtoseconds& latest = operand.op == OpKind::sweep ? of_sweep : of_others;
    latest = std::max(latest, arrival);
  }
};

std::optional<double> finite(std::optional<double> value) {
  return value && *value < std::numeric_limits<double>::infinity() ? value : std::nullopt;
}

}  // namespace

Seconds sweep_beyond_ffn(const ExecutionTable& table) {
  const Row& sweep = row_of(table, OpKind::sweep);
  const Row& ffn = row_of(table, OpKind::ffn);
  return to_seconds((sweep.end - sweep.start) - (ffn.end - ffn.start));
}

Seconds merge_wait(const ExecutionTable& table) {
  Femtoseconds longest(std::numeric_limits<std::int64_t>::min());
  for (const Row& output : table.rows) {
    if (output.is_message() || output.op != OpKind::o || output.step != StepId(0)) {
      continue;
    }
    Arrivals arrivals;
    for (const Dependency& dep : output.deps) {
      const Row& operand = table.rows[dep.row.value()];
      if (operand.op != OpKind::merge) {
        arrivals.note(operand, dep.arrival);
        continue;
      }
      for (const Dependency& merged : operand.deps) {
        arrivals.note(table.rows[merged.row.value()], merged.arrival);
      }
    }
    longest = std::max(longest, arrivals.of_sweep - arrivals.of_others);
  }
  return to_seconds(longest);
}

std::vector<Crossover> find_crossovers(const RunConfig& config) {
  std::vector<Crossover> crossovers;
  if (config.arrangement != Arrangement::two_device ||
      config.current_token != CurrentToken::merge) {
    return crossovers;
  }
  const AnalyticParameters parameters =
      analytic_parameters(config, config.block, config.workload.context);
  crossovers.push_back(Search(config, config.block, sweep_beyond_ffn).run("ffn"));
  crossovers.back().closed_form = finite(ffn_crossover(parameters));
  for (const BlockOrder block : blocks_of(config)) {
    crossovers.push_back(Search(config, block, merge_wait).run("latency"));
    crossovers.back().closed_form =
        finite(latency_crossover(analytic_parameters(config, block, config.workload.context)));
  }
  return crossovers;
}

}  // namespace qfs
