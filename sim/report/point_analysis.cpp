#include "sim/report/point_analysis.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "sim/config/system_config.hpp"
#include "system/layout.hpp"

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

bool has_dram_timing(const RunConfig& config) {
  const bool one_kind = config.arrangement == Arrangement::colocated ||
                        config.arrangement == Arrangement::tensor_parallel;
  return config.compute_device.memory != MemoryTier::ideal ||
         (!one_kind && config.cache_device.memory != MemoryTier::ideal);
}

/// Faults strike only where numbers are computed: at the main context.
std::string not_in_formula(const PointResult& point, const RunConfig& config) {
  if (config.numerics.inject.kind != FaultKind::none && point.context == config.workload.context) {
    return "the injected fault";
  }
  const CachePolicy& cache = config.cache.policy;
  const std::pair<bool, const char*> reasons[] = {
      {config.faults.any(), "faults"},
      {has_dram_timing(config), "DRAM timing"},
      {cache.prefetch.ahead > 0, "prefetch"},
      {cache.append_delay > Seconds(0), "append_delay"},
      {config.arrangement != Arrangement::colocated && config.link.jitter > Seconds(0),
       "link jitter"}};
  std::string text;
  for (const auto& [applies, reason] : reasons) {
    text += applies ? (text.empty() ? "" : ", ") + std::string(reason) : "";
  }
  return text;
}

std::optional<ClosedFormAgreement> agreement_of(const PointAnalysis& analysis,
                                                const RunConfig& config) {
  const AnalyticAnswer& analytic = analysis.point->analytic;
  std::optional<ClosedFormAgreement> agreement;
  const std::size_t rows = analysis.point->table.rows.size();
  compare(agreement, analysis.stack_time(), analytic.stack_time, rows);
  const std::size_t waves = std::min(analysis.waves.size(), analytic.step_times.size());
  for (std::size_t wave = 0; wave < waves; ++wave) {
    const std::vector<StepTime>& simulated = analysis.waves[wave].steps;
    const std::vector<Seconds>& closed_form = analytic.step_times[wave];
    for (std::size_t i = 0; i < std::min(simulated.size(), closed_form.size()); ++i) {
      compare(agreement, simulated[i].length(), closed_form[i], rows);
    }
  }
  if (agreement) {
    agreement->not_in_formula = not_in_formula(*analysis.point, config);
  }
  return agreement;
}

/// The steps and ledgers of each wave.
std::vector<WaveAnalysis> analyse_waves(const std::vector<WaveRows>& rows,
                                        const RequestSteps& requests, std::size_t batch) {
  std::vector<WaveAnalysis> waves;
  for (const WaveRequests& wave : waves_of(rows.size(), batch)) {
    const std::vector<StepTime> steps =
        wave_steps(std::span(requests).subspan(wave.first.value(), wave.count));
    if (steps.empty()) {
      throw std::logic_error("report: a point in which no step was executed");
    }
    waves.push_back({wave, steps, ledgers_of(rows[waves.size()], steps)});
  }
  return waves;
}

PointAnalysis analyse_point(const RunConfig& config, const PointResult& point, std::size_t index) {
  const Workload& workload = config.workload;
  const std::vector<WaveRows> rows = rows_by_wave(point.table, workload.in_flight, workload.batch);
  const Places places(point.table, layout_of(system_config(config, point.block, point.context)));
  PointAnalysis analysis;
  analysis.point = &point;
  analysis.index = index;
  analysis.requests = request_steps(point.table, workload.requests());
  analysis.waves = analyse_waves(rows, analysis.requests, workload.batch);
  analysis.mixed = has_own_requests(config, point.context);
  analysis.resident_kv = resident_kv_bytes(config, point.context);
  analysis.speed = speed_of(analysis.requests);
  analysis.drained = drained_at(point.table);
  const StepTime& first = analysis.steps().front();
  analysis.use = use_of(point.table, first, config.link);
  analysis.traffic = traffic_of(point.table, StepId(0));
  analysis.whole_traffic = traffic_of(point.table);
  analysis.sides = sides_of(rows.front(), places);
  analysis.loads = loads_of(point.table, first, config, places);
  analysis.bound = bound_of(analysis.loads);
  analysis.closed_form = agreement_of(analysis, config);
  if (point.analytic.roofline) {
    analysis.roofline_share =
        point.analytic.roofline->time.value() / to_seconds(first.length()).value();
  }
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
