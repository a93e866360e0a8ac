#include "sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "sim/config/load.hpp"
#include "sim/report/text.hpp"
#include "sim/run/achieved.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/progress.hpp"
#include "sim/run/serialize.hpp"

namespace boost::serialization {

template <class Archive>
void serialize(Archive& archive, qfs::PointErrors& errors, unsigned /*version*/) {
  bool has_softmax = errors.softmax.has_value();
  double softmax = errors.softmax.value_or(0);
  archive& errors.operation& errors.end_to_end& errors.failure& has_softmax& softmax;
  errors.softmax = has_softmax ? std::optional<double>(softmax) : std::nullopt;
}

template <class Archive>
void serialize(Archive& archive, qfs::PointFigures& figures, unsigned /*version*/) {
  archive& figures.step_us& figures.tpot_us& figures.worst_tpot_us& figures.tokens_per_s;
  archive& figures.exposed_sweep_us& figures.exposed_link_us& figures.wire_bytes;
  archive& figures.blocks_staged& figures.blocks_stale& figures.tail_fetch_us;
  bool computed = figures.errors.has_value();
  archive& computed;
  if (computed) {
    if (!figures.errors) {
      figures.errors.emplace();
    }
    archive&* figures.errors;
  }
}

}  // namespace boost::serialization

namespace qfs {
namespace {

/// Points of equal configuration.
struct Simulation {
  const RunConfig* run = nullptr;
  std::vector<std::size_t> points;
  std::uint64_t thousands = 0;  // of operations, roughly: for the order and the progress
};

std::uint64_t thousands_of_operations(const RunConfig& run) {
  const bool parallel = run.arrangement == Arrangement::tensor_parallel;
  const std::size_t devices = parallel ? run.tensor_parallel.devices : run.cache.split.devices;
  const std::size_t layer_steps = run.workload.requests() * run.workload.tokens * run.model.layers;
  return 1 + layer_steps * (parallel ? 8 * devices : 6 + 2 * devices) / 1000;
}

/// Figures, or why there are none.
struct Simulated {
  PointFigures figures;
  std::string error;

  template <class Archive>
  void serialize(Archive& archive, unsigned /*version*/) {
    archive& figures& error;
  }
};

/// A run that fails is a point of the sweep like others.
Simulated simulated(const RunConfig& run) {
  try {
    return {simulated_figures(run), {}};
  } catch (const RunError& error) {
    return {{}, fmt::format("the run failed: {}", error.what())};
  }
}

/// Each configuration once; the longest first, so that no process is left alone with it at the end.
std::vector<Simulation> simulations_of(const std::vector<PlannedPoint>& planned) {
  std::map<std::string, Simulation> by_text;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (planned[i].run) {
      Simulation& simulation = by_text[to_yaml(*planned[i].run)];
      simulation.run = &*planned[i].run;
      simulation.points.push_back(i);
    }
  }
  std::vector<Simulation> simulations;
  for (auto& [text, simulation] : by_text) {
    simulation.thousands = thousands_of_operations(*simulation.run);
    simulations.push_back(std::move(simulation));
  }
  std::stable_sort(
      simulations.begin(), simulations.end(),
      [](const Simulation& a, const Simulation& b) { return a.thousands > b.thousands; });
  return simulations;
}

std::vector<Simulated> simulate_all(const std::vector<Simulation>& simulations,
                                    std::size_t points) {
  std::uint64_t thousands = 0;
  for (const Simulation& simulation : simulations) {
    thousands += simulation.thousands;
  }
  const auto count = static_cast<std::int64_t>(points);
  ProgressStage stage(
      fmt::format("{} points by {} simulations; thousands of operations", grouped(count),
                  grouped(static_cast<std::int64_t>(simulations.size()))),
      thousands);
  std::vector<std::function<Simulated()>> tasks;
  tasks.reserve(simulations.size());
  for (const Simulation& simulation : simulations) {
    achieved_bandwidth(*simulation.run);  // its children begin with the rates of its DRAM
    tasks.emplace_back([&stage, &simulation] {
      Simulated outcome = simulated(*simulation.run);
      for (std::uint64_t i = 0; i < simulation.thousands; ++i) {
        stage.counter().advance();
      }
      return outcome;
    });
  }
  return run_isolated(tasks, default_jobs(), [&stage] { stage.show(); });
}

}  // namespace

SweepResult run_sweep(const SweepConfig& config) {
  const std::vector<PlannedPoint> planned = plan_points(config);
  const std::vector<Simulation> simulations = simulations_of(planned);
  SweepResult result{config, {}, simulations.size()};
  for (const PlannedPoint& point : planned) {
    result.points.push_back(point.point);
  }
  const std::vector<Simulated> outcomes = simulate_all(simulations, planned.size());
  for (std::size_t i = 0; i < simulations.size(); ++i) {
    for (const std::size_t index : simulations[i].points) {
      SweepPoint& point = result.points[index];
      point.figures = outcomes[i].figures;
      point.refused = outcomes[i].error;
      point.failed = !outcomes[i].error.empty();
    }
  }
  return result;
}

}  // namespace qfs
