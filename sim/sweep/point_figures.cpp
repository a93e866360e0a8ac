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

/// Lets each step take so much more time.
void put_in(std::vector<StepTime>& steps, const std::vector<Femtoseconds>& more) {
  Femtoseconds later{0};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].start += later;
    later += more[i];
    steps[i].stack_end += later;
    steps[i].end += later;
  }
}

/// Of a table in which one request may stand for all of its wave, and a few layers of so many for
/// all if there are fewer in it.
std::optional<PointFigures> timed_figures(const RunConfig& config, const SystemConfig& system,
                                          std::size_t layers, const ExecutionTable& table) {
  RunConfig told = config;  // of the requests that the table names
  told.workload.batch /= system.rules.alike;
  std::optional<LayersLeftOut> left_out;
  if (config.model.layers < layers) {
    left_out = layers_left_out(told, layers, table);
    if (!left_out) {
      return std::nullopt;
    }
  }
  PointFigures figures = figures_of(told, table, left_out);
  figures.tokens_per_s *= static_cast<double>(system.rules.alike);
  return figures;
}

/// What is simulated of it.
RunConfig told_run(const TimedRun& timed) {
  return timed.by_few_layers ? with_few_layers(*timed.run) : *timed.run;
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

PointFigures figures_of(const RunConfig& config, const ExecutionTable& table,
                        const std::optional<LayersLeftOut>& left_out) {
  const Workload& workload = config.workload;
  RequestSteps requests = request_steps(table, workload.requests());
  const std::vector<StepTime> steps = wave_steps(std::span(requests).first(workload.batch));
  const WaveRequests wave{RequestId(0), workload.batch};
  StepLedger ledger = ledgers_of(table, std::span(steps).first(1), wave).front();
  PointFigures figures;
  figures.wire_bytes = total_of(traffic_of(table, StepId(0))).wire_bytes;
  Femtoseconds step = steps.front().length();
  if (left_out) {
    step += left_out->time.front().front();
    for (std::size_t request = 0; request < requests.size(); ++request) {
      put_in(requests[request], left_out->time[request / workload.batch]);
    }
    ledger.sweep_exposed += left_out->sweep_exposed;
    ledger.link_exposed += left_out->link_exposed;
    figures.wire_bytes += left_out->wire_bytes;
  }
  figures.step_us = microseconds(step);
  note_speed(figures, requests);
  figures.exposed_sweep_us = microseconds(ledger.sweep_exposed);
  figures.exposed_link_us = microseconds(ledger.link_exposed);
  figures.simulated_layers = config.model.layers;
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
  return timed_figures(config, system, config.model.layers, simulate(system).table).value();
}

std::vector<std::optional<PointFigures>> timed_figures(std::span<const TimedRun> runs) {
  std::vector<RunConfig> told;
  std::vector<SystemConfig> systems;
  for (const TimedRun& timed : runs) {
    told.push_back(told_run(timed));
    systems.push_back(main_timing(told.back()));
  }
  const std::vector<const ExecutionTable*> tables = simulate_all(systems);
  std::vector<std::optional<PointFigures>> figures;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    figures.push_back(timed_figures(told[i], systems[i], runs[i].run->model.layers, *tables[i]));
  }
  return figures;
}

std::size_t timed_operations(const TimedRun& timed) {
  return rough_operations(main_timing(told_run(timed)));
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
