// What a sweep keeps of a simulated point: a handful of figures from its table of executed rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "decode/inputs.hpp"
#include "sim/run/result.hpp"
#include "sim/sweep/repeating_layers.hpp"

namespace qfs {

/// Errors of a point whose numbers were computed (sim/report/numeric_verdict.hpp).
struct PointErrors {
  double operation = 0;   // worst, of any executed operation, relative
  double end_to_end = 0;  // worst distance from the fp64 decoder with the same softmax, relative
  /// Worst distance of that decoder from one with the exact softmax on the same inputs, relative:
  /// what the softmax unit and its calibration cost. None with an LM head, which chooses inputs.
  std::optional<double> softmax = {};
  std::string failure;  // the first; empty: passed
};

/// "First step": of the first wave, as in a run's report (sim/report/point_analysis.hpp).
struct PointFigures {
  double step_us = 0;                // the first step
  double tpot_us = 0;                // mean over the requests; of one token, its step
  double worst_tpot_us = 0;          // of any of them
  double tokens_per_s = 0;           // of all of them
  double exposed_sweep_us = 0;       // ledger of the first step: only a sweep is running
  double exposed_link_us = 0;        // likewise: only a message is in flight
  Bytes wire_bytes;                  // of the first token of every request, over all ports
  std::size_t blocks_staged = 0;     // in the whole run: copies into a staging buffer
  std::size_t blocks_stale = 0;      // of these, copies that lacked rows when their sweep began
  double tail_fetch_us = 0;          // fetching those rows, in the whole run
  std::size_t simulated_layers = 0;  // fewer than the model's: they stand for all of them
  std::optional<PointErrors> errors;
};

/// Of a point of `config`, timed and perhaps computed. At least one request and one step.
PointFigures figures_of(const RunConfig& config, const ExecutionTable& table,
                        const std::optional<LayersLeftOut>& left_out = std::nullopt);

PointErrors errors_of(BlockOrder block, const NumericReport& numerics);

/// PointErrors::softmax. Inputs without LM head.
double softmax_error(const RunConfig& config, const Inputs& inputs);

/// A run whose times are asked for, and how.
struct TimedRun {
  const RunConfig* run = nullptr;
  bool by_few_layers = false;  // if these stand for all
};
/// About how many operations timed_figures simulates.
std::size_t timed_operations(const TimedRun& timed);
/// Times alone, whatever numerics.mode, of several runs in one simulation; one request may stand
/// for all of its wave. Each gets the figures that it gets alone, or none if a few layers do not
/// stand for all. Once in a process.
std::vector<std::optional<PointFigures>> timed_figures(std::span<const TimedRun> runs);
/// Of one run, by all its layers.
PointFigures timed_figures(const RunConfig& config);

/// Simulates the configuration's main point, with numbers where numerics.mode is full. Once in a
/// process (system/simulation.hpp).
PointFigures simulated_figures(const RunConfig& config);

}  // namespace qfs
