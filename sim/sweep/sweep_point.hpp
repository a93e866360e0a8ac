// One point of a sweep: which it is, and what came of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/units.hpp"
#include "sim/sweep/point_figures.hpp"
#include "sim/sweep/sweep_config.hpp"

namespace qfs {

enum class PointStatus {
  ok,       // simulated
  skipped,  // by one of the sweep's constraints
  refused,  // a combination that cannot be, such as a cache that does not fit
  failed,   // its run did
};

template <>
inline constexpr EnumNames<PointStatus, 4> enum_names<PointStatus>{{
    {PointStatus::ok, "ok"},
    {PointStatus::skipped, "skipped"},
    {PointStatus::refused, "refused"},
    {PointStatus::failed, "failed"},
}};

/// What a configuration says of a point without being simulated.
struct PointFacts {
  std::size_t batch = 0;      // of a wave; 0: there is no configuration
  std::size_t in_flight = 1;  // waves
  std::size_t devices = 0;    // accelerators, on all sides
  Bytes resident_kv;          // of all requests, at the end

  bool operator==(const PointFacts&) const = default;
};

/// What is known of a point.
struct PointOutcome {
  PointStatus status = PointStatus::ok;
  std::string reason;      // why it has no figures, in one line
  bool transient = false;  // failed for what may not happen again, such as a lack of memory
  PointFacts facts;
  PointFigures figures;
};

struct SweepPoint : PointOutcome {
  std::vector<std::size_t> values;  // by axis: index
  std::size_t variant = 0;
  Equal equal = Equal::wave;

  [[nodiscard]] bool ran() const { return status == PointStatus::ok; }
};

}  // namespace qfs
