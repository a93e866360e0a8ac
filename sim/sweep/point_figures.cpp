#include "sim/sweep/point_figures.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "decode/reference_decoder.hpp"
#include "sim/report/derived.hpp"
#include "sim/report/ledger.hpp"
#include "sim/report/numeric_verdict.hpp"
#include "sim/report/steps.hpp"
#include "sim/report/waves.hpp"
#include "sim/run/points.hpp"
#include "system/simulation.hpp"

namespace qfs {
namespace {

double microseconds(Femtoseconds time) { return to_microseconds(to_seconds(time)); }

void note_speed(PointFigures& figures, const RequestSteps& requests) {
  const DecodeSpeed speed = speed_of(requests);
  figures.tpot_us = 1e6 / speed.tokens_per_s_per_user;
  figures.tokens_per_s = speed.tokens_per_s;
  for (const std::vector<StepTime>& steps : requests) {
    const Seconds tpot = tpot_of(steps).value_or(to_seconds(steps.front().length()));
    figures.worst_tpot_us = std::max(figures.worst_tpot_us, to_microseconds(tpot));
  }
}

/// A sweep fetches the tail of its block at once, in one row.
void note_staging(PointFigures& figures, const ExecutionTable& table) {
  Femtoseconds fetching{0};
  for (const Row& row : table.rows) {
    figures.blocks_staged += row.kind == RowKind::prefetch ? 1 : 0;
    if (row.kind == RowKind::tail_fetch) {
      ++figures.blocks_stale;
      fetching += row.end - row.start;
    }
  }
  figures.tail_fetch_us = microseconds(fetching);
}

/// What the decoder takes a row's softmax to be; append_first has one history only.
SoftmaxChoice softmax_of_row(const RunConfig& config) {
  SoftmaxChoice choice = config.attention.softmax;
  if (config.current_token == CurrentToken::append_first) {
    choice.calibration = Calibration::row;
  }
  return choice;
}

/// |a - b| / |b|, of vectors in L2.
double distance(std::span<const double> a, std::span<const double> b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

SystemConfig main_timing(const RunConfig& config) {
  return timing_config(config, config.block, config.workload.context);
}

/// Of a table in which one request may stand for all of its wave.
PointFigures timed_figures(const RunConfig& config, const SystemConfig& system,
                           const ExecutionTable& table) {
  RunConfig told = config;  // of the requests that the table names
  told.workload.batch /= system.rules.alike;
  PointFigures figures = figures_of(told, table);
  figures.tokens_per_s *= static_cast<double>(system.rules.alike);
  return figures;
}

}  // namespace

double softmax_error(const RunConfig& config, const Inputs& inputs) {
  double worst = 0;
  for (RequestId request{0}; request.value() < inputs.config().contexts.size(); ++request) {
    ReferenceDecoder chosen(inputs, config.block, request, softmax_of_row(config));
    ReferenceDecoder exact(inputs, config.block, request);
    for (StepId step{0}; step.value() < inputs.config().tokens; ++step) {
      const std::vector<float> seeded = inputs.seeded_input(request, step);
      const std::vector<double> x(seeded.begin(), seeded.end());
      worst = std::max(worst, distance(chosen.step(x), exact.step(x)));
    }
  }
  return worst;
}

PointFigures figures_of(const RunConfig& config, const ExecutionTable& table) {
  const Workload& workload = config.workload;
  const RequestSteps requests = request_steps(table, workload.requests());
  const std::vector<StepTime> steps = wave_steps(std::span(requests).first(workload.batch));
  const std::span<const StepTime> first(steps.data(), 1);
  PointFigures figures;
  figures.step_us = microseconds(first.front().length());
  note_speed(figures, requests);
  const WaveRequests wave{RequestId(0), workload.batch};
  const StepLedger ledger = ledgers_of(table, first, wave).front();
  figures.exposed_sweep_us = microseconds(ledger.sweep_exposed);
  figures.exposed_link_us = microseconds(ledger.link_exposed);
  figures.wire_bytes = total_of(traffic_of(table, StepId(0))).wire_bytes;
  note_staging(figures, table);
  return figures;
}

PointErrors errors_of(BlockOrder block, const NumericReport& numerics) {
  RunResult result;
  PointResult& point = result.points.emplace_back();
  point.block = block;
  point.numerics = numerics;
  const NumericVerdict verdict = numeric_verdict(result);
  return {verdict.operation, verdict.end_to_end, std::nullopt, verdict.failure};
}

PointFigures timed_figures(const RunConfig& config) {
  const SystemConfig system = main_timing(config);
  return timed_figures(config, system, simulate(system).table);
}

std::vector<PointFigures> timed_figures(std::span<const RunConfig* const> configs) {
  std::vector<SystemConfig> systems;
  systems.reserve(configs.size());
  for (const RunConfig* config : configs) {
    systems.push_back(main_timing(*config));
  }
  const std::vector<const ExecutionTable*> tables = simulate_all(systems);
  std::vector<PointFigures> figures;
  figures.reserve(configs.size());
  for (std::size_t i = 0; i < configs.size(); ++i) {
    figures.push_back(timed_figures(*configs[i], systems[i], *tables[i]));
  }
  return figures;
}

std::size_t timed_operations(const RunConfig& config) {
  return rough_operations(main_timing(config));
}

PointFigures simulated_figures(const RunConfig& config) {
  if (config.numerics.mode == NumericsMode::off) {
    return timed_figures(config);
  }
  const SystemConfig system = system_config(config, config.block, config.workload.context);
  const Inputs inputs(inputs_config(config));
  const NumericRequest request{inputs, config.numerics.check == NumericsCheck::every_step};
  const SimulationResult result = simulate(system, &request);
  PointFigures figures = figures_of(config, result.table);
  if (result.numerics) {
    figures.errors = errors_of(config.block, *result.numerics);
    if (!config.workload.lm_head) {
      figures.errors->softmax = softmax_error(config, inputs);
    }
  }
  return figures;
}

}  // namespace qfs
