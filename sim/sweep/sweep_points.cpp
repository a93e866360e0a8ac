#include "sim/sweep/sweep_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "sim/config/load.hpp"
#include "sim/config/section.hpp"
#include "sim/config/system_config.hpp"
#include "sim/config/validate.hpp"

namespace qfs {
namespace {

/// Keys whose value decides nothing about how other keys are read, so that a configuration with
/// another value of theirs is the same but for their fields.
constexpr std::array<std::string_view, 7> plain_keys{
    "workload.batch", "workload.context", "workload.in_flight",    "workload.tokens",
    "link.latency",   "link.bandwidth",   "link.message_overhead",
};

bool is_plain(std::string_view argument) {
  const std::string_view key = argument.substr(0, argument.find('='));
  return std::find(plain_keys.begin(), plain_keys.end(), key) != plain_keys.end();
}

/// Whether plain keys of the workload stand in for what its requests have of their own.
bool has_own_workload(const RunConfig& run) {
  return !run.workload.trace.empty() || !run.workload.request_contexts.empty() ||
         !run.workload.request_tokens.empty();
}

/// Puts plain keys over a configuration that was made with others. None: what they say is refused,
/// which a full reading says better.
std::optional<RunConfig> with_plain(const RunConfig& prototype,
                                    const std::vector<std::string>& arguments,
                                    const std::filesystem::path& run_file) {
  config::ConfigNode tree = config::map_node("", {});
  for (const std::string& argument : arguments) {
    if (is_plain(argument)) {
      config::apply_override(tree, argument);
    }
  }
  RunConfig run = prototype;
  try {
    const bool timing_only = run.numerics.mode == NumericsMode::off;
    const bool nothing_required = true;
    config::read_section(tree, "", run, {run_file, timing_only}, nothing_required);
    config::validate(run, [&](std::string_view) { return config::Where{run_file.string()}; });
  } catch (const ConfigError&) {
    return std::nullopt;
  }
  return run;
}

config::ConfigNode tree_of(const std::filesystem::path& run_file,
                           const std::vector<std::string>& arguments) {
  config::ConfigNode root = config::read_yaml_map(run_file);
  for (const std::string& argument : arguments) {
    config::apply_override(root, argument);
  }
  return root;
}

std::size_t devices_of(const RunConfig& run) {
  const std::size_t cache = run.cache.split.devices;
  switch (run.arrangement) {
    case Arrangement::colocated:
      return 1;
    case Arrangement::two_device:
      return 1 + cache;
    case Arrangement::pooled:
      return run.pool.instances + cache;
    case Arrangement::tensor_parallel:
      return run.tensor_parallel.devices;
  }
  return 0;
}

}  // namespace

SweepSpace::SweepSpace(const SweepConfig& sweep) : sweep_(sweep), first_of_{0} {
  for (const Equal equal : sweep.equal) {
    std::uint64_t points = sweep.variants.size();
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
      points *= sweep.values_of(axis, equal);
    }
    first_of_.push_back(first_of_.back() + points);
  }
}

SweepPoint SweepSpace::at(std::uint64_t index) const {
  std::size_t part = 0;
  while (index >= first_of_[part + 1]) {
    ++part;
  }
  SweepPoint point;
  point.equal = sweep_.equal[part];
  std::uint64_t rest = index - first_of_[part];
  point.variant = static_cast<std::size_t>(rest % sweep_.variants.size());
  rest /= sweep_.variants.size();
  point.values.resize(sweep_.axes.size());
  for (std::size_t axis = point.values.size(); axis-- > 0;) {
    const std::size_t count = sweep_.values_of(axis, point.equal);
    point.values[axis] = static_cast<std::size_t>(rest % count);
    rest /= count;
  }
  return point;
}

const SweepConstraint* SweepSpace::skipped_by(const SweepPoint& point) const {
  const auto holds = [&](const SweepCondition& condition) {
    if (!condition.axis) {
      return bool{condition.holds[point.variant]};
    }
    // A batch that is still to be found meets no condition.
    const bool has_value = sweep_.values_of(*condition.axis, point.equal) == condition.holds.size();
    return has_value && condition.holds[point.values[*condition.axis]];
  };
  for (const SweepConstraint& constraint : sweep_.constraints) {
    if (std::all_of(constraint.conditions.begin(), constraint.conditions.end(), holds)) {
      return &constraint;
    }
  }
  return nullptr;
}

PointFacts facts_of(const RunConfig& run) {
  return {run.workload.batch, run.workload.in_flight, devices_of(run),
          resident_kv_bytes(run, run.workload.context)};
}

RunConfig PointMaker::make(const SweepPoint& point) {
  return equalised(point.equal, overrides_of(point));
}

PointMaker::Overrides PointMaker::overrides_of(const SweepPoint& point) const {
  Overrides overrides;
  for (std::size_t axis = 0; axis < point.values.size(); ++axis) {
    const SweepAxis& own = sweep_.axes[axis];
    const std::string& label = sweep_.label(axis, point.values[axis], point.equal);
    if (!label.empty()) {
      overrides.push_back({own.key + "=" + label, own.where});
    }
  }
  const SweepVariant& own = sweep_.variants[point.variant];
  for (std::size_t i = 0; i < own.overrides.size(); ++i) {
    overrides.push_back({own.overrides[i], own.where[i]});
  }
  return overrides;
}

/// What a sweep has no use for, then the point's overrides, then `last`.
std::vector<std::string> PointMaker::arguments(const Overrides& overrides,
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

RunConfig PointMaker::load(const Overrides& overrides, const std::string& last) {
  const std::vector<std::string> all = arguments(overrides, last);
  std::string key;
  for (const std::string& argument : all) {
    // Of a plain key only that it is there.
    key += (is_plain(argument) ? argument.substr(0, argument.find('=')) : argument) + "\n";
  }
  const auto prototype = prototypes_.find(key);
  if (prototype != prototypes_.end()) {
    if (std::optional<RunConfig> run = with_plain(prototype->second, all, sweep_.run)) {
      return *std::move(run);
    }
  }
  RunConfig run = load_run_config(sweep_.run, all);
  if (prototype == prototypes_.end() && !has_own_workload(run)) {
    constexpr std::size_t most_prototypes = 64;
    if (prototypes_.size() == most_prototypes) {
      prototypes_.clear();
    }
    prototypes_.emplace(std::move(key), run);
  }
  return run;
}

/// With the batch of a wave that makes what is held equal so.
RunConfig PointMaker::equalised(Equal equal, const Overrides& overrides) {
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
void PointMaker::refuse_fixed_batch(const Overrides& overrides) const {
  const config::ConfigNode root = tree_of(sweep_.run, arguments(overrides, {}));
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

/// Raises the batch from one to the largest that the configuration's checks, among them that of
/// the capacities, let pass.
void PointMaker::find_largest(RunConfig& run) const {
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

void PointMaker::validate(const RunConfig& run) const {
  config::validate(run, [this](std::string_view) { return config::Where{sweep_.run.string()}; });
}

void PointMaker::require_readable(const SweepPoint& point) const {
  const Overrides overrides = overrides_of(point);
  try {
    RunConfig run;
    config::read_section(tree_of(sweep_.run, arguments(overrides, {})), "", run,
                         {sweep_.run, sweep_.numerics == SweepNumerics::off});
  } catch (const ConfigError& error) {
    const std::string_view message = error.what();
    for (const Override& override : overrides) {
      const std::string argument = "--set " + override.argument + ":";
      if (message.starts_with(argument)) {
        throw ConfigError(fmt::format("{}:{}", override.where, message.substr(argument.size())));
      }
    }
    throw;
  }
}

namespace {

/// The point of a variant at the first values but one, if constraints leave it.
void check_value(const SweepSpace& space, const PointMaker& maker, const SweepPoint& point) {
  if (space.skipped_by(point) == nullptr) {
    maker.require_readable(point);
  }
}

void check_values(const SweepConfig& sweep, const SweepSpace& space, const PointMaker& maker) {
  for (std::size_t variant = 0; variant < sweep.variants.size(); ++variant) {
    SweepPoint first = space.at(0);
    first.equal = Equal::wave;
    first.variant = variant;
    check_value(space, maker, first);
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
      const std::size_t count = sweep.axes[axis].values.size();
      const std::size_t stride =
          sweep.axes[axis].is_range ? std::max<std::size_t>(1, count - 1) : 1;
      for (std::size_t value = 0; value < count; value += stride) {
        SweepPoint point = first;
        point.values[axis] = value;
        if (value > 0) {
          check_value(space, maker, point);
        }
      }
    }
  }
}

}  // namespace

void check_points(const SweepConfig& sweep) {
  const SweepSpace space(sweep);
  PointMaker maker(sweep);
  check_values(sweep, space, maker);
  std::string refusal;
  std::uint64_t tried = 0;
  std::uint64_t left = 0;
  bool can_be = false;
  for (std::uint64_t index = 0; index < space.points(); ++index) {
    const SweepPoint point = space.at(index);
    if (space.skipped_by(point) != nullptr) {
      continue;
    }
    ++left;
    if (can_be || tried == tried_points) {
      break;
    }
    try {
      ++tried;
      maker.make(point);
      can_be = true;
    } catch (const ConfigError& error) {
      maker.require_readable(point);
      refusal = refusal.empty() ? error.what() : refusal;
    }
  }
  if (left == 0) {
    throw ConfigError(fmt::format("{}: constraints: skip every point", sweep.file.string()));
  }
  if (!can_be && tried < tried_points) {
    throw ConfigError(refusal);
  }
}

}  // namespace qfs
