#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "sim/report/csv.hpp"
#include "sim/sweep/objectives.hpp"
#include "sim/sweep/sweep_report.hpp"

namespace qfs {
namespace {

constexpr std::string_view figure_columns =
    ",batch,in_flight,resident_requests,resident_kv_bytes,step_us,tpot_us,worst_tpot_us,"
    "tokens_per_s,exposed_sweep_us,exposed_link_us,wire_bytes,blocks_staged,blocks_stale,"
    "tail_fetch_us,operation_error,end_to_end_error,softmax_error,numerics,devices,simulated_"
    "layers";

std::string errors_text(const PointFigures& figures) {
  if (!figures.errors) {
    return ",,,,";
  }
  const PointErrors& errors = *figures.errors;
  return fmt::format(",{:.6e},{:.6e},{},{}", errors.operation, errors.end_to_end,
                     errors.softmax ? fmt::format("{:.6e}", *errors.softmax) : "",
                     errors.failure.empty() ? "passed" : csv_field(errors.failure));
}

std::string figures_text(const SweepPoint& point) {
  if (!point.ran()) {
    std::string commas(20, ',');
    return commas;
  }
  const PointFigures& figures = point.figures;
  const PointFacts& facts = point.facts;
  return fmt::format(
      ",{},{},{},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{},{},{},{:.6f}{},{},{}", facts.batch,
      facts.in_flight, facts.batch * facts.in_flight, facts.resident_kv.value(), figures.step_us,
      figures.tpot_us, figures.worst_tpot_us, figures.tokens_per_s, figures.exposed_sweep_us,
      figures.exposed_link_us, figures.wire_bytes.value(), figures.blocks_staged,
      figures.blocks_stale, figures.tail_fetch_us, errors_text(figures), facts.devices,
      figures.simulated_layers);
}

std::string head_text(const SweepConfig& config) {
  std::string text = "equal";
  for (const SweepAxis& axis : config.axes) {
    text += "," + csv_field(axis.key);
  }
  text += ",variant";
  text += figure_columns;
  text += ",status,reason";
  for (const DerivedColumn& column : config.derived) {
    text += "," + column.name;
  }
  return text + (config.objectives.empty() ? "\n" : ",pareto\n");
}

std::string number_text(double number) {
  return std::isfinite(number) ? fmt::format("{:.6f}", number) : "";
}

}  // namespace

std::string results_csv(const SweepResult& result) {
  const SweepConfig& config = result.config;
  const DerivedFigures derived(result);
  const std::vector<bool> pareto =
      config.objectives.empty() ? std::vector<bool>{} : pareto_points(result);
  std::string text = head_text(config);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const SweepPoint& point = result.points[i];
    text += name_of(point.equal);
    for (std::size_t axis = 0; axis < point.values.size(); ++axis) {
      text += "," + csv_field(config.label(axis, point.values[axis], point.equal));
    }
    text += "," + csv_field(config.variants[point.variant].name);
    text += figures_text(point);
    text += fmt::format(",{},{}", name_of(point.status), csv_field(point.reason));
    for (std::size_t column = 0; column < config.derived.size(); ++column) {
      text += "," + number_text(derived.of(column, i));
    }
    if (!pareto.empty()) {
      text += point.ran() ? (pareto[i] ? ",yes" : ",no") : ",";
    }
    text += "\n";
  }
  return text;
}

}  // namespace qfs
