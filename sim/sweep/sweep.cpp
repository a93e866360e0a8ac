#include "sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "sim/config/load.hpp"
#include "sim/config/system_config.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/points.hpp"
#include "sim/run/progress.hpp"
#include "sim/run/serialize.hpp"
#include "system/simulation.hpp"

namespace boost::serialization {

template <class Archive>
void serialize(Archive& archive, qfs::SweepTimes& times, unsigned /*version*/) {
  archive& times.step_us& times.tpot_us& times.worst_tpot_us& times.tokens_per_s;
}

}  // namespace boost::serialization

namespace qfs {
namespace {

/// When each request's tokens were there, by step.
using TokenEnds = std::map<RequestId, std::map<StepId, Femtoseconds>>;

TokenEnds token_ends(const ExecutionTable& table) {
  TokenEnds ends;
  for (const Row& row : table.rows) {
    const bool last = row.op == OpKind::o || row.op == OpKind::ffn || is_reduce(row.op) ||
                      row.op == OpKind::lm_head;
    if (!row.is_operation() || !last) {
      continue;
    }
    for (const Member& member : row.members) {
      Femtoseconds& end = ends[member.request][member.step];
      end = std::max(end, row.end);
    }
  }
  return ends;
}

SweepTimes times_of(const ExecutionTable& table) {
  const TokenEnds ends = token_ends(table);
  SweepTimes times;
  times.step_us = to_microseconds(to_seconds(ends.begin()->second.begin()->second));
  for (const auto& [request, steps] : ends) {
    const Seconds first = to_seconds(steps.begin()->second);
    const Seconds last = to_seconds(steps.rbegin()->second);
    const auto later = static_cast<double>(steps.size() - 1);
    const double tpot = later > 0 ? to_microseconds(last - first) / later : to_microseconds(first);
    times.tpot_us += tpot / static_cast<double>(ends.size());
    times.worst_tpot_us = std::max(times.worst_tpot_us, tpot);
    times.tokens_per_s += 1e6 / tpot;
  }
  return times;
}

/// Makes the points, each with the configuration that it stands for.
class PointMaker {
 public:
  explicit PointMaker(const SweepConfig& sweep) : sweep_(sweep) {}

  struct Made {
    SweepPoint point;
    std::optional<RunConfig> run;  // none: refused
  };

  std::vector<Made> make() {
    for (const Equal equal : sweep_.equal) {
      std::vector<std::size_t> values(sweep_.axes.size(), 0);
      do {
        make_variants(equal, values);
      } while (next(values));
    }
    if (std::none_of(made_.begin(), made_.end(),
                     [](const Made& made) { return made.run.has_value(); })) {
      throw ConfigError(made_.front().point.refused);
    }
    return std::move(made_);
  }

 private:
  bool next(std::vector<std::size_t>& values) const {
    for (std::size_t axis = values.size(); axis-- > 0;) {
      if (++values[axis] < sweep_.axes[axis].values.size()) {
        return true;
      }
      values[axis] = 0;
    }
    return false;
  }

  void make_variants(Equal equal, const std::vector<std::size_t>& values) {
    for (std::size_t variant = 0; variant < sweep_.variants.size(); ++variant) {
      made_.push_back(make_point(equal, values, variant));
    }
  }

  Made make_point(Equal equal, const std::vector<std::size_t>& values, std::size_t variant) const {
    Made made;
    made.point.values = values;
    made.point.variant = variant;
    made.point.equal = equal;
    std::vector<std::string> overrides = overrides_of(values, variant);
    try {
      made.run = equal == Equal::wave ? load_run_config(sweep_.run, overrides)
                                      : equalised(equal, overrides);
    } catch (const ConfigError& error) {
      made.run.reset();
      made.point.refused = error.what();
      return made;
    }
    made.point.batch = made.run->workload.batch;
    made.point.in_flight = made.run->workload.in_flight;
    made.point.resident_kv = resident_kv_bytes(*made.run, made.run->workload.context);
    return made;
  }

  [[nodiscard]] std::vector<std::string> overrides_of(const std::vector<std::size_t>& values,
                                                      std::size_t variant) const {
    std::vector<std::string> overrides{"numerics.mode=off", "compare=[]", "workload.contexts=[]"};
    for (std::size_t axis = 0; axis < values.size(); ++axis) {
      overrides.push_back(
          fmt::format("{}={}", sweep_.axes[axis].key, sweep_.axes[axis].values[values[axis]]));
    }
    const std::vector<std::string>& own = sweep_.variants[variant].overrides;
    overrides.insert(overrides.end(), own.begin(), own.end());
    return overrides;
  }

  static std::vector<std::string> with_batch(std::vector<std::string> overrides,
                                             std::size_t batch) {
    overrides.push_back(fmt::format("workload.batch={}", batch));
    return overrides;
  }

  /// With the batch of a wave that makes what is held equal so.
  [[nodiscard]] RunConfig equalised(Equal equal, const std::vector<std::string>& overrides) const {
    const RunConfig one = load_run_config(sweep_.run, with_batch(overrides, 1));
    const std::size_t in_flight = one.workload.in_flight;
    if (equal == Equal::memory) {
      return largest(overrides, in_flight);
    }
    std::vector<std::string> all_in_one = overrides;
    all_in_one.emplace_back("workload.in_flight=1");
    const std::size_t requests = load_run_config(sweep_.run, all_in_one).workload.batch;
    if (requests % in_flight != 0) {
      throw ConfigError(fmt::format("{} resident requests are no whole number for each of {} waves",
                                    requests, in_flight));
    }
    return load_run_config(sweep_.run, with_batch(overrides, requests / in_flight));
  }

  /// The largest batch that the configuration's checks, among them that of the capacities, let
  /// pass. `overrides` with a batch of one is legal, or the error is thrown on.
  [[nodiscard]] RunConfig largest(const std::vector<std::string>& overrides,
                                  std::size_t in_flight) const {
    RunConfig best = load_run_config(sweep_.run, with_batch(overrides, 1));
    std::size_t low = 1;
    std::size_t high = std::max<std::size_t>(1, sweep_.most_requests / in_flight) + 1;
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      try {
        best = load_run_config(sweep_.run, with_batch(overrides, middle));
        low = middle;
      } catch (const ConfigError&) {
        high = middle;
      }
    }
    return best;
  }

  const SweepConfig& sweep_;
  std::vector<Made> made_;
};

SweepTimes simulated_times(const RunConfig& run) {
  return times_of(simulate(system_config(run, run.block, run.workload.context)).table);
}

}  // namespace

SweepResult run_sweep(const SweepConfig& config) {
  std::vector<PointMaker::Made> made = PointMaker(config).make();
  SweepResult result{config, {}};
  std::vector<std::function<SweepTimes()>> tasks;
  const auto runs =
      std::count_if(made.begin(), made.end(), [](const auto& point) { return point.run; });
  ProgressStage stage(fmt::format("{} points", runs), static_cast<std::uint64_t>(runs));
  for (PointMaker::Made& point : made) {
    result.points.push_back(point.point);
    if (point.run) {
      tasks.emplace_back([&stage, run = *point.run] {
        const SweepTimes times = simulated_times(run);
        stage.counter().advance();
        return times;
      });
    }
  }
  const std::vector<SweepTimes> times =
      run_isolated(tasks, default_jobs(), [&stage] { stage.show(); });
  std::size_t next = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i].run) {
      result.points[i].times = times[next++];
    }
  }
  return result;
}

}  // namespace qfs
