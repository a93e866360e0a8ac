#include "sim/sensitivity/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <type_traits>

#include "base/error.hpp"
#include "sim/config/schema.hpp"
#include "sim/config/tree.hpp"
#include "sim/run/progress.hpp"

namespace qfs {
namespace {

/// A number of a configuration, by reference.
struct Number {
  std::string key;
  std::function<void(double)> multiply;  // what was given
};

template <class T>
concept Measured = requires(T quantity) {
  { quantity.value() } -> std::convertible_to<double>;
};

/// Visits the schema and collects the numbers that can be moved.
class NumberVisitor {
 public:
  NumberVisitor(std::vector<Number>& numbers, std::string path)
      : numbers_(numbers), path_(std::move(path)) {}

  template <class T, class Form>
  void field(const config::Key& key, T& value, const Form&) {
    if constexpr (std::is_same_v<T, double>) {
      add(key, value, value, [](double number) { return number; });
    } else if constexpr (std::is_same_v<T, Bytes>) {
      if (path_.find(".kernels") != std::string::npos) {  // else a layout's
        add(key, value, static_cast<double>(value.value()),
            [](double number) { return Bytes(static_cast<std::int64_t>(number)); });
      }
    } else if constexpr (Measured<T>) {
      add(key, value, value.value(), [](double number) { return T(number); });
    }
  }
  template <class T>
  void section(const config::Key& key, T& value) {
    describe_inside(key, value);
  }
  template <class T>
  void section(const config::Key& key, std::optional<T>& value) {
    if (value) {
      describe_inside(key, *value);
    }
  }
  void section(const config::Key&, MeasuringClock&) {}  // nothing simulated sees it
  template <class T>
  void sections(const config::Key&, std::vector<T>&) {}
  template <class T>
  void preset_section(const config::Key& key, std::optional<T>& value, PresetKind kind) {
    if (value && kind == PresetKind::fitted) {
      describe_inside(key, *value);
    }
  }

 private:
  template <class T>
  void describe_inside(const config::Key& key, T& value) {
    NumberVisitor inner(numbers_, config::joined_path(path_, key.name));
    config::describe(inner, value);
  }
  template <class T, class Make>
  void add(const config::Key& key, T& value, double given, const Make& make) {
    if (std::isfinite(given) && given > 0) {
      numbers_.push_back({config::joined_path(path_, key.name),
                          [&value, given, make](double factor) { value = make(factor * given); }});
    }
  }

  std::vector<Number>& numbers_;
  std::string path_;
};

std::vector<Number> numbers_of(RunConfig& run) {
  std::vector<Number> numbers;
  const auto visit = [&](const char* path, auto& section) {
    NumberVisitor visitor(numbers, path);
    config::describe(visitor, section);
  };
  visit("compute_device", run.compute_device);
  visit("cache_device", run.cache_device);
  visit("link", run.link);
  return numbers;
}

StepPair known_steps(const RunConfig& run, const StepTimer& timer) {
  const std::optional<StepPair> steps = steps_of(run, timer);
  if (!steps) {
    throw RunError("sensitivity: a run without a step time");
  }
  return *steps;
}

bool equal(const StepPair& a, const StepPair& b) {
  return a.own == b.own && a.standard == b.standard;
}

}  // namespace

double MovedNumber::span() const { return std::abs(more.gain() - less.gain()); }

SensitivityStudy study_sensitivity(const RunConfig& run, double by, double share,
                                   const StepTimer& timer) {
  assert(by > 0 && by < 1);
  if (run.block == BlockOrder::standard || run.arrangement == Arrangement::colocated) {
    throw ConfigError(
        "sensitivity: block standard, or no link; legal: a block order that is compared with "
        "standard, on several devices");
  }
  RunConfig moved = run;
  SensitivityStudy study;
  study.given = known_steps(moved, timer);
  for (const Number& number : numbers_of(moved)) {
    number.multiply(1 - by);
    const StepPair less = known_steps(moved, timer);
    number.multiply(1 + by);
    const StepPair more = known_steps(moved, timer);
    number.multiply(1);
    if (equal(less, study.given) && equal(more, study.given)) {
      ++study.without_effect;
    } else {
      study.moved.push_back({number.key, less, more});
    }
  }
  std::stable_sort(study.moved.begin(), study.moved.end(),
                   [](const auto& a, const auto& b) { return a.span() > b.span(); });
  study.furthest = furthest_latency(run, share, timer);
  return study;
}

std::vector<SensitivityStudy> study_sensitivities(const std::vector<VariedConfig>& runs, double by,
                                                  double share) {
  ProgressStage stage("sensitivities", runs.size());
  std::vector<SensitivityStudy> studies;
  studies.reserve(runs.size());
  for (const VariedConfig& run : runs) {
    studies.push_back(study_sensitivity(run.config, by, share, simulated_step));
    studies.back().values = run.values;
    stage.counter().advance();
    stage.show();
  }
  return studies;
}

}  // namespace qfs
