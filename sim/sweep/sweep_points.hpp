// The points of a sweep and the configuration that each stands for. A point is one variant at one
// value of each axis with one notion of equality; it is no more than an index until it is made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/config/run_config.hpp"
#include "sim/sweep/sweep_config.hpp"
#include "sim/sweep/sweep_point.hpp"

namespace qfs {

/// By equality, then axes (the last runs fastest), then variant. Keeps a reference to the sweep.
class SweepSpace {
 public:
  explicit SweepSpace(const SweepConfig& sweep);

  [[nodiscard]] std::uint64_t points() const { return first_of_.back(); }
  /// Its place; no outcome. index < points().
  [[nodiscard]] SweepPoint at(std::uint64_t index) const;
  /// The first constraint that skips the point; null: none does.
  [[nodiscard]] const SweepConstraint* skipped_by(const SweepPoint& point) const;

 private:
  const SweepConfig& sweep_;
  std::vector<std::uint64_t> first_of_;  // index, by notion of equality; then the end
};

/// Makes configurations, the one alike to the last made in little time.
class PointMaker {
 public:
  explicit PointMaker(const SweepConfig& sweep) : sweep_(sweep) {}

  /// ConfigError for what keeps the point from being, such as a cache that does not fit.
  RunConfig make(const SweepPoint& point);
  /// ConfigError, with the place in the sweep's file, if it is not the combination that cannot be
  /// but a key or value by itself that no run takes.
  void require_readable(const SweepPoint& point) const;

 private:
  struct Override {
    std::string argument;  // key=value
    std::string where;     // in the sweep's file
  };
  using Overrides = std::vector<Override>;

  [[nodiscard]] Overrides overrides_of(const SweepPoint& point) const;
  [[nodiscard]] std::vector<std::string> arguments(const Overrides& overrides,
                                                   const std::string& last) const;
  RunConfig load(const Overrides& overrides, const std::string& last = {});
  RunConfig equalised(Equal equal, const Overrides& overrides);
  void refuse_fixed_batch(const Overrides& overrides) const;
  void find_largest(RunConfig& run) const;
  void validate(const RunConfig& run) const;

  const SweepConfig& sweep_;
  std::map<std::string, RunConfig> prototypes_;  // by all arguments but those of plain keys
};

PointFacts facts_of(const RunConfig& run);

/// Mistakes in the sweep that show only in its points, found without making all of them: each value
/// of an axis with each variant, other axes at their first values; of a range its ends. ConfigError
/// for the first; also if constraints skip every point, or if none of the first `tried_points`
/// that are left can be, with the first's reason.
void check_points(const SweepConfig& sweep);

inline constexpr std::uint64_t tried_points = 10'000;

}  // namespace qfs
