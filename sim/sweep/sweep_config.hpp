// What a sweep's YAML file says: one run, changed in every combination of some axes and in several
// variants, which are compared with one another.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/enum_names.hpp"

namespace qfs {

/// A key of the run and the values that it takes in turn.
struct SweepAxis {
  std::string key;                  // "workload.context"
  std::vector<std::string> values;  // as YAML text
  std::string where;                // "sweep.yaml:7"
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

struct SweepConfig {
  std::string name;
  std::filesystem::path run;  // the run file, relative to the sweep's own
  SweepNumerics numerics = SweepNumerics::off;
  std::vector<Equal> equal{Equal::wave};
  std::size_t most_requests = 512;  // of `memory`: no more than these are simulated
  std::vector<SweepAxis> axes;
  std::vector<SweepVariant> variants;

  /// Values that an axis takes: one for workload.batch under `memory`, which looks for its own.
  [[nodiscard]] std::size_t values_of(std::size_t axis, Equal equal) const;
  /// The text of such a value; empty where it means nothing.
  [[nodiscard]] std::string label(std::size_t axis, std::size_t value, Equal equal) const;
};

/// ConfigError for what is wrong with the file itself; what its values do to the run shows when the
/// points are made.
SweepConfig load_sweep_config(const std::filesystem::path& file);

}  // namespace qfs
