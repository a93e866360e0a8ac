// What a sweep's YAML file says: one run, changed in every combination of some axes and in several
// variants, which are compared with one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"

namespace qfs {

/// A key of the run and the values that it takes in turn.
struct SweepAxis {
  std::string key;                  // "workload.context"
  std::vector<std::string> values;  // as YAML text
  std::string where;                // "sweep.yaml:7"
  bool is_range = false;            // of numbers that rise from the first to the last
};

/// A condition that a point meets if its value of the axis is one of those marked.
struct SweepCondition {
  std::optional<std::size_t> axis;  // none: the variant
  std::vector<bool> holds;          // by value
};

/// Points that meet all the conditions are not simulated.
struct SweepConstraint {
  std::vector<SweepCondition> conditions;
  std::string because;
};

struct Figure;  // figures.hpp

/// How a point compares with the baseline variant at the same values of the axes.
enum class Comparison {
  speed_up,  // how many times better: of a figure of which less is better, baseline / own
  ratio,     // own / baseline
};

template <>
inline constexpr EnumNames<Comparison, 2> enum_names<Comparison>{{
    {Comparison::speed_up, "speed_up"},
    {Comparison::ratio, "ratio"},
}};

struct DerivedColumn {
  std::string name;
  Comparison comparison = Comparison::speed_up;
  const Figure* figure = nullptr;
  std::size_t baseline = 0;  // a variant
};

struct SweepObjective {
  std::string name;  // of the figure or the derived column
  const Figure* figure = nullptr;
  std::size_t derived = 0;  // where there is no figure
  bool maximise = false;
};

/// A way of doing the same work: overrides of the run, as `--set` takes them.
struct SweepVariant {
  std::string name;
  std::vector<std::string> overrides;
  std::vector<std::string> where;  // of each override
};

/// What is held equal between variants that keep different numbers of waves in flight.
enum class Equal {
  wave,      // requests of a wave: workload.batch as given
  resident,  // requests with a cache on the devices: workload.batch / in_flight a wave
  memory,    // the devices: the largest batch whose caches fit them
};

template <>
inline constexpr EnumNames<Equal, 3> enum_names<Equal>{{
    {Equal::wave, "wave"},
    {Equal::resident, "resident"},
    {Equal::memory, "memory"},
}};

enum class SweepNumerics {
  off,  // numerics.mode: off, only times
  on,   // numerics.mode: full, the errors of every point beside its times
};

template <>
inline constexpr EnumNames<SweepNumerics, 2> enum_names<SweepNumerics>{{
    {SweepNumerics::off, "off"},
    {SweepNumerics::on, "on"},
}};

/// What is simulated of a stack of layers, where no numbers are computed.
enum class SweepLayers {
  all,
  repeating,  // a few that stand for all, where they do (repeating_layers.hpp)
};

template <>
inline constexpr EnumNames<SweepLayers, 2> enum_names<SweepLayers>{{
    {SweepLayers::all, "all"},
    {SweepLayers::repeating, "repeating"},
}};

struct SweepConfig {
  std::string name;
  std::filesystem::path run;  // the run file, relative to the sweep's own
  SweepNumerics numerics = SweepNumerics::off;
  SweepLayers layers = SweepLayers::all;
  std::vector<Equal> equal{Equal::wave};
  std::size_t most_requests = 512;  // of `memory`: no more than these are simulated
  std::vector<SweepAxis> axes;
  std::vector<SweepVariant> variants;
  std::vector<SweepConstraint> constraints;
  std::vector<DerivedColumn> derived;
  std::vector<SweepObjective> objectives;
  std::filesystem::path file;  // that all this was read from
  std::string text;            // of it

  /// Values that an axis takes: one for workload.batch under `memory`, which looks for its own.
  [[nodiscard]] std::size_t values_of(std::size_t axis, Equal equal) const;
  /// The text of such a value; empty where it means nothing.
  [[nodiscard]] const std::string& label(std::size_t axis, std::size_t value, Equal equal) const;
  /// With all variants and notions of equality, whatever the constraints take away.
  [[nodiscard]] std::uint64_t points() const;
};

inline constexpr std::size_t most_points = 4'000'000;

/// A list of values, or {from, to, steps, scale} of a key that takes a number (key_kind.hpp): so
/// many values from one to the other, both among them, equally far apart (linear, the default) or
/// in equal ratios (log); where the key takes whole numbers rounded, and each once.
///
/// ConfigError for what is wrong with the file itself; what its values do to the run shows when the
/// points are made.
SweepConfig load_sweep_config(const std::filesystem::path& file);

}  // namespace qfs
