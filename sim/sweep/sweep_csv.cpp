#include <fmt/format.h>

#include "sim/report/csv.hpp"
#include "sim/sweep/sweep_report.hpp"

namespace qfs {
namespace {

constexpr const char* figure_columns =
    ",batch,in_flight,resident_requests,resident_kv_bytes,step_us,tpot_us,worst_tpot_us,"
    "tokens_per_s,exposed_sweep_us,exposed_link_us,wire_bytes,blocks_staged,blocks_stale,tail_"
    "fetch_us,"
    "operation_error,end_to_end_error,softmax_error,numerics,refused\n";

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
  const PointFigures& figures = point.figures;
  return fmt::format(",{},{},{},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{},{},{},{:.6f}{},\n",
                     point.batch, point.in_flight, point.batch * point.in_flight,
                     point.resident_kv.value(), figures.step_us, figures.tpot_us,
                     figures.worst_tpot_us, figures.tokens_per_s, figures.exposed_sweep_us,
                     figures.exposed_link_us, figures.wire_bytes.value(), figures.blocks_staged,
                     figures.blocks_stale, figures.tail_fetch_us, errors_text(figures));
}

}  // namespace

std::string sweep_csv(const SweepResult& result) {
  const SweepConfig& config = result.config;
  std::string text = "equal";
  for (const SweepAxis& axis : config.axes) {
    text += "," + csv_field(axis.key);
  }
  text += ",variant";
  text += figure_columns;
  for (const SweepPoint& point : result.points) {
    text += name_of(point.equal);
    for (std::size_t axis = 0; axis < point.values.size(); ++axis) {
      text += "," + csv_field(config.label(axis, point.values[axis], point.equal));
    }
    text += "," + csv_field(config.variants[point.variant].name);
    text += point.refused.empty() ? figures_text(point)
                                  : std::string(18, ',') + "," + csv_field(point.refused) + "\n";
  }
  return text;
}

}  // namespace qfs
