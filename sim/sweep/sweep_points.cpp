#include "sim/sweep/sweep_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "sim/config/load.hpp"
#include "sim/config/section.hpp"
#include "sim/config/system_config.hpp"
#include "sim/config/validate.hpp"

namespace qfs {
namespace {

/// An override and where the sweep's file says it.
struct Override {
  std::string argument;
  std::string where;
};
using Overrides = std::vector<Override>;

class Planner {
 public:
  explicit Planner(const SweepConfig& sweep) : sweep_(sweep) {}

  std::vector<PlannedPoint> plan() {
    for (const Equal equal : sweep_.equal) {
      std::vector<std::size_t> values(sweep_.axes.size(), 0);
      do {
        for (std::size_t variant = 0; variant < sweep_.variants.size(); ++variant) {
          planned_.push_back(plan_point(equal, values, variant));
        }
      } while (next(equal, values));
    }
    if (std::none_of(planned_.begin(), planned_.end(),
                     [](const PlannedPoint& planned) { return planned.run.has_value(); })) {
      throw ConfigError(planned_.front().point.refused);
    }
    return std::move(planned_);
  }

 private:
  bool next(Equal equal, std::vector<std::size_t>& values) const {
    for (std::size_t axis = values.size(); axis-- > 0;) {
      if (++values[axis] < sweep_.values_of(axis, equal)) {
        return true;
      }
      values[axis] = 0;
    }
    return false;
  }

  [[nodiscard]] PlannedPoint plan_point(Equal equal, const std::vector<std::size_t>& values,
                                        std::size_t variant) const {
    PlannedPoint planned;
    planned.point.values = values;
    planned.point.variant = variant;
    planned.point.equal = equal;
    const Overrides overrides = overrides_of(equal, values, variant);
    try {
      planned.run = equalised(equal, overrides);
    } catch (const ConfigError& error) {
      require_readable(overrides);
      planned.point.refused = error.what();
      return planned;
    }
    planned.point.batch = planned.run->workload.batch;
    planned.point.in_flight = planned.run->workload.in_flight;
    planned.point.resident_kv = resident_kv_bytes(*planned.run, planned.run->workload.context);
    return planned;
  }

  [[nodiscard]] Overrides overrides_of(Equal equal, const std::vector<std::size_t>& values,
                                       std::size_t variant) const {
    Overrides overrides;
    for (std::size_t axis = 0; axis < values.size(); ++axis) {
      const SweepAxis& own = sweep_.axes[axis];
      const std::string label = sweep_.label(axis, values[axis], equal);
      if (!label.empty()) {
        overrides.push_back({fmt::format("{}={}", own.key, label), own.where});
      }
    }
    const SweepVariant& own = sweep_.variants[variant];
    for (std::size_t i = 0; i < own.overrides.size(); ++i) {
      overrides.push_back({own.overrides[i], own.where[i]});
    }
    return overrides;
  }

  /// What a sweep has no use for, then the point's overrides, then `last`.
  [[nodiscard]] std::vector<std::string> arguments(const Overrides& overrides,
                                                   const std::string& last) const {
    const bool computed = sweep_.numerics == SweepNumerics::on;
    std::vector<std::string> all{"compare=[]", "workload.contexts=[]",
                                 computed ? "numerics.mode=full" : "numerics.mode=off"};
    for (const Override& override : overrides) {
      all.push_back(override.argument);
    }
    if (!last.empty()) {
      all.push_back(last);
    }
    return all;
  }

  [[nodiscard]] RunConfig load(const Overrides& overrides, const std::string& last = {}) const {
    return load_run_config(sweep_.run, arguments(overrides, last));
  }

  /// With the batch of a wave that makes what is held equal so.
  [[nodiscard]] RunConfig equalised(Equal equal, const Overrides& overrides) const {
    if (equal == Equal::wave) {
      return load(overrides);
    }
    refuse_fixed_batch(overrides);
    RunConfig run = load(overrides, "workload.batch=1");
    const std::size_t in_flight = run.workload.in_flight;
    if (equal == Equal::memory) {
      find_largest(run);
      return run;
    }
    const std::size_t requests = load(overrides, "workload.in_flight=1").workload.batch;
    if (requests % in_flight != 0) {
      throw ConfigError(fmt::format("{} resident requests are no whole number for each of {} waves",
                                    requests, in_flight));
    }
    run.workload.batch = requests / in_flight;
    validate(run);
    return run;
  }

  /// The requests of a list or a trace are as many as they are.
  void refuse_fixed_batch(const Overrides& overrides) const {
    const config::ConfigNode root = tree(overrides);
    const config::ConfigNode* workload = root.given("workload");
    for (const char* key : {"request_contexts", "request_tokens", "trace"}) {
      if (workload != nullptr && workload->given(key) != nullptr) {
        throw ConfigError(
            fmt::format("workload.{} fixes the batch, which equal resident and memory choose; "
                        "legal: equal wave",
                        key));
      }
    }
  }

  [[nodiscard]] config::ConfigNode tree(const Overrides& overrides) const {
    config::ConfigNode root = config::read_yaml_map(sweep_.run);
    for (const std::string& argument : arguments(overrides, {})) {
      config::apply_override(root, argument);
    }
    return root;
  }

  /// Raises the batch from one to the largest that the configuration's checks, among them that of
  /// the capacities, let pass.
  void find_largest(RunConfig& run) const {
    std::size_t& batch = run.workload.batch;
    std::size_t low = 1;
    std::size_t high = std::max<std::size_t>(1, sweep_.most_requests / run.workload.in_flight) + 1;
    while (high - low > 1) {
      batch = low + (high - low) / 2;
      try {
        validate(run);
        low = batch;
      } catch (const ConfigError&) {
        high = batch;
      }
    }
    batch = low;
  }

  void validate(const RunConfig& run) const {
    config::validate(run, [this](std::string_view) { return config::Where{sweep_.run.string()}; });
  }

  /// ConfigError, with the place in the sweep's file, if it is not the combination that cannot be
  /// but an override by itself that says nothing legal.
  void require_readable(const Overrides& overrides) const {
    try {
      RunConfig run;
      config::read_section(tree(overrides), "", run,
                           {sweep_.run, sweep_.numerics == SweepNumerics::off});
    } catch (const ConfigError& error) {
      throw ConfigError(placed(error.what(), overrides));
    }
  }

  static std::string placed(const std::string& message, const Overrides& overrides) {
    for (const Override& override : overrides) {
      const std::string argument = "--set " + override.argument + ":";
      if (message.starts_with(argument)) {
        return override.where + ":" + message.substr(argument.size());
      }
    }
    return message;
  }

  const SweepConfig& sweep_;
  std::vector<PlannedPoint> planned_;
};

}  // namespace

std::vector<PlannedPoint> plan_points(const SweepConfig& sweep) { return Planner(sweep).plan(); }

}  // namespace qfs
