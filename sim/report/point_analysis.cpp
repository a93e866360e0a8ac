#include "sim/report/point_analysis.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace qfs {
namespace {

/// Keeps the deviation that is the larger in size. A closed form without a time is passed over, and
/// so is what is within the femtoseconds that the simulator's rows were rounded to.
void compare(std::optional<ClosedFormAgreement>& agreement, Femtoseconds simulated,
             Seconds closed_form, std::size_t rows) {
  if (!std::isfinite(closed_form.value()) || closed_form.value() <= 0) {
    return;
  }
  const double difference = to_seconds(simulated).value() - closed_form.value();
  const bool rounding = std::abs(difference) * femtoseconds_per_second <= static_cast<double>(rows);
  const double deviation = rounding ? 0 : difference / closed_form.value();
  if (!agreement) {
    agreement.emplace();
  }
  if (std::abs(deviation) > std::abs(agreement->deviation)) {
    agreement->deviation = deviation;
  }
}

/// Faults strike only where numbers are computed: at the main context.
std::string not_in_formula(const PointResult& point, const RunConfig& config) {
  if (config.numerics.inject.kind != FaultKind::none && point.context == config.workload.context) {
    return "the injected fault";
  }
  const bool has_link = config.arrangement != Arrangement::colocated;
  return has_link && config.link.jitter.value() > 0 ? "link jitter" : "";
}

std::optional<ClosedFormAgreement> agreement_of(const PointAnalysis& analysis,
                                                const RunConfig& config) {
  const AnalyticAnswer& analytic = analysis.point->analytic;
  std::optional<ClosedFormAgreement> agreement;
  compare(agreement, analysis.stack_time(), analytic.stack_time, analysis.point->table.rows.size());
  const std::size_t steps = std::min(analysis.steps.size(), analytic.step_times.size());
  for (std::size_t step = 0; step < steps; ++step) {
    compare(agreement, analysis.steps[step].length(), analytic.step_times[step],
            analysis.point->table.rows.size());
  }
  if (agreement) {
    agreement->not_in_formula = not_in_formula(*analysis.point, config);
  }
  return agreement;
}

PointAnalysis analyse_point(const RunConfig& config, const PointResult& point, std::size_t index) {
  PointAnalysis analysis;
  analysis.point = &point;
  analysis.index = index;
  analysis.steps = steps_of(point.table);
  if (analysis.steps.empty()) {
    throw std::logic_error("report: a point in which no step was executed");
  }
  const StepTime& first = analysis.steps.front();
  const WaveRequests wave{RequestId(0), config.workload.batch};
  analysis.ledgers = ledgers_of(point.table, analysis.steps, wave);
  analysis.speed = speed_of(analysis.steps, config.workload.batch);
  analysis.drained = drained_at(point.table);
  analysis.use = use_of(point.table, first, config.link);
  analysis.traffic = traffic_of(point.table, StepId(0));
  analysis.whole_traffic = traffic_of(point.table);
  analysis.sides = sides_of(point.table);
  analysis.loads = loads_of(point.table, first, config);
  analysis.bound = bound_of(analysis.loads);
  analysis.closed_form = agreement_of(analysis, config);
  analysis.roofline_share = point.analytic.roofline.value() / to_seconds(first.length()).value();
  return analysis;
}

}  // namespace

std::vector<PointAnalysis> analyse(const RunResult& result) {
  std::vector<PointAnalysis> analyses;
  for (std::size_t index = 0; index < result.points.size(); ++index) {
    analyses.push_back(analyse_point(result.config, result.points[index], index));
  }
  return analyses;
}

BlockOrder baseline_block(const RunConfig& config) {
  const bool compared = std::find(config.compare.begin(), config.compare.end(),
                                  BlockOrder::standard) != config.compare.end();
  return compared ? BlockOrder::standard : config.block;
}

const PointAnalysis* same_context(std::span<const PointAnalysis> analyses,
                                  const PointAnalysis& point, BlockOrder block) {
  const auto found = std::find_if(analyses.begin(), analyses.end(), [&](const auto& other) {
    return other.point->context == point.point->context && other.point->block == block;
  });
  return found == analyses.end() ? nullptr : &*found;
}

double speedup(const PointAnalysis& point, const PointAnalysis& other) {
  return to_seconds(other.step_time()).value() / to_seconds(point.step_time()).value();
}

}  // namespace qfs
