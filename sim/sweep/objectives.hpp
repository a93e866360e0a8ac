// What is derived from the figures of all points: the columns of a sweep's `derived`, and which
// points its objectives favour.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/sweep/sweep.hpp"

namespace qfs {

class DerivedFigures {
 public:
  /// Keeps a reference to the result, whose points are complete.
  explicit DerivedFigures(const SweepResult& result) : result_(result) {}

  /// Of a derived column; not a number where the point or its baseline has none.
  [[nodiscard]] double of(std::size_t column, std::size_t point) const;
  /// Of an objective's figure or derived column.
  [[nodiscard]] double of(const SweepObjective& objective, std::size_t point) const;

 private:
  const SweepResult& result_;
};

/// The best point of an objective, the first of equals; none has it: nothing.
std::optional<std::size_t> best_point(const SweepResult& result, const SweepObjective& objective);

/// By point: whether no other is better in one objective and as good in all others. A point that
/// lacks a figure is none of them.
std::vector<bool> pareto_points(const SweepResult& result);

}  // namespace qfs
