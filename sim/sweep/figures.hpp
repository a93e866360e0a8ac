// The figures of a point that a sweep's file may name: to derive columns from, as objectives.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/sweep/sweep_point.hpp"

namespace qfs {

struct Figure {
  std::string_view name;  // its column in results.csv
  bool more_is_better;
  double (*of)(const SweepPoint&);  // not a number: the point has none
};

std::span<const Figure> figures();
/// Null: no figure is called so.
const Figure* figure_named(std::string_view name);
std::vector<std::string> figure_names();

}  // namespace qfs
