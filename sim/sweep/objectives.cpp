#include "sim/sweep/objectives.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/sweep/figures.hpp"

namespace qfs {
namespace {

/// By objective; less is better.
using Costs = std::vector<double>;

/// As good in all; the same point, or a better one.
bool covers(const Costs& a, const Costs& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](double mine, double other) { return mine <= other; });
}

}  // namespace

double DerivedFigures::of(std::size_t column, std::size_t point) const {
  const DerivedColumn& derived = result_.config.derived[column];
  const SweepPoint& own = result_.points[point];
  const SweepPoint& base = result_.points[point - own.variant + derived.baseline];
  const double mine = derived.figure->of(own);
  const double others = derived.figure->of(base);
  const bool inverse =
      derived.comparison == Comparison::speed_up && !derived.figure->more_is_better;
  return inverse ? others / mine : mine / others;
}

double DerivedFigures::of(const SweepObjective& objective, std::size_t point) const {
  return objective.figure != nullptr ? objective.figure->of(result_.points[point])
                                     : of(objective.derived, point);
}

std::optional<std::size_t> best_point(const SweepResult& result, const SweepObjective& objective) {
  const DerivedFigures figures(result);
  const double sign = objective.maximise ? -1 : 1;
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t point = 0; point < result.points.size(); ++point) {
    const double cost = sign * figures.of(objective, point);
    if (!std::isnan(cost) && (!best || cost < least)) {
      best = point;
      least = cost;
    }
  }
  return best;
}

std::vector<bool> pareto_points(const SweepResult& result) {
  const DerivedFigures figures(result);
  std::vector<Costs> costs(result.points.size());
  std::vector<std::size_t> order;
  for (std::size_t point = 0; point < costs.size(); ++point) {
    for (const SweepObjective& objective : result.config.objectives) {
      costs[point].push_back((objective.maximise ? -1 : 1) * figures.of(objective, point));
    }
    if (std::none_of(costs[point].begin(), costs[point].end(),
                     [](double cost) { return std::isnan(cost); })) {
      order.push_back(point);
    }
  }
  // Whoever is better than a point in one objective and as good in the others stands before it.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
  std::vector<bool> is_best(costs.size(), false);
  std::vector<std::size_t> front;
  for (const std::size_t point : order) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&](std::size_t other) {
      return covers(costs[other], costs[point]) && costs[other] != costs[point];
    });
    if (!beaten) {
      front.push_back(point);
      is_best[point] = true;
    }
  }
  return is_best;
}

}  // namespace qfs
