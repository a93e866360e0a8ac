#include "sim/calibrate/residual_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "sim/config/quantity.hpp"

namespace qfs {
namespace {

constexpr double axis_end = 0.25;
constexpr int axis_half = 25;  // characters from the middle to an end

using Value = std::function<std::int64_t(const KernelWork&)>;
struct Grouping {
  const char* name;
  Value value;
};

std::vector<Grouping> groupings(KernelKind kind) {
  if (kind == KernelKind::sweep) {
    return {{"context", [](const KernelWork& w) { return std::get<SweepWork>(w).context; }},
            {"batch", [](const KernelWork& w) { return std::get<SweepWork>(w).batch; }},
            {"heads", [](const KernelWork& w) { return std::get<SweepWork>(w).query_heads; }},
            {"KV heads", [](const KernelWork& w) { return std::get<SweepWork>(w).kv_heads; }}};
  }
  return {{"m", [](const KernelWork& w) { return std::get<ProductWork>(w).m; }},
          {"n", [](const KernelWork& w) { return std::get<ProductWork>(w).n; }},
          {"k", [](const KernelWork& w) { return std::get<ProductWork>(w).k; }}};
}

int column_of(double error) {
  const double place = std::clamp(error / axis_end, -1.0, 1.0) * axis_half;
  return axis_half + static_cast<int>(std::lround(place));
}

std::string drawn(double low, double middle, double high) {
  std::string axis(2 * axis_half + 1, ' ');
  axis[axis_half] = '|';
  for (int column = column_of(low); column <= column_of(high); ++column) {
    axis[static_cast<std::size_t>(column)] = '-';
  }
  axis[static_cast<std::size_t>(column_of(middle))] = 'o';
  return axis;
}

std::string plot(const Grouping& grouping, const CalibratedKernel& kernel) {
  std::map<std::int64_t, std::vector<double>> groups;
  for (std::size_t row = 0; row < kernel.rows.size(); ++row) {
    groups[grouping.value(kernel.rows[row].work)].push_back(std::expm1(kernel.errors[row]));
  }
  std::string text = fmt::format("\n  {:>8}  {:>5}  {:>7}  {:<{}}{:>4}\n", grouping.name, "rows",
                                 "median", "-25 %", 2 * axis_half - 3, "+25 %");
  for (auto& [value, errors] : groups) {
    std::ranges::sort(errors);
    const double middle = quantile(errors, 0.5);
    std::string line =
        fmt::format("  {:>8}  {:>5}  {:>+5.1f} %  {}", value, errors.size(), 100 * middle,
                    drawn(quantile(errors, 0.1), middle, quantile(errors, 0.9)));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

double value_of(const FittedKernel& kernel, const std::string& name) {
  if (name == "clock_tick") {
    return kernel.clock.tick.value();
  }
  if (name == "clock_phase") {
    return kernel.clock.phase.value();
  }
  return fitted_number(name).get(kernel.cost);
}

}  // namespace

std::string residual_plots(const CalibratedKernel& kernel) {
  std::string text;
  for (const Grouping& grouping : groupings(kernel.kind)) {
    text += plot(grouping, kernel);
  }
  return text;
}

bool is_at_bound(const FittedKernel& kernel, const FreeParameter& parameter) {
  constexpr double near = 1.001;
  const double value = value_of(kernel, parameter.name);
  return value <= near * parameter.least || value >= parameter.most / near;
}

std::string written_number(const FittedKernel& kernel, const std::string& name) {
  using config::Dimension;
  const double value = value_of(kernel, name);
  if (name == "cache") {
    return config::format_size(kernel.cost.cache);
  }
  if (name == "serial" || name == "tall_traffic") {
    return config::format_number(value);
  }
  if (name == "unit_mac_rate") {
    return config::format_quantity(value, Dimension::mac_rate);
  }
  const bool rate = name.ends_with("bandwidth");
  return config::format_quantity(value, rate ? Dimension::rate : Dimension::time);
}

}  // namespace qfs
