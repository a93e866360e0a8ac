// Everything that the reports say about one point, computed once from its rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/report/derived.hpp"
#include "sim/report/ledger.hpp"
#include "sim/report/steps.hpp"
#include "sim/run/result.hpp"

namespace qfs {

/// Simulation and closed form agree within this; simulated times are rounded to femtoseconds.
inline constexpr double agreement_tolerance = 1e-6;

/// Simulated times of one point against the closed form for the same parameters.
struct ClosedFormAgreement {
  /// (simulated - closed form) / closed form, the largest of the stack time and the step times of
  /// every wave.
  double deviation = 0;
  std::string not_in_formula;  // what makes them differ rightly, e.g. "link jitter"; else empty

  [[nodiscard]] bool expected() const { return not_in_formula.empty(); }
  [[nodiscard]] bool agrees() const {
    return deviation <= agreement_tolerance && deviation >= -agreement_tolerance;
  }
};

/// One wave: the requests that move through the layers together.
struct WaveAnalysis {
  WaveRequests requests;
  std::vector<StepTime> steps;      // at least one
  std::vector<StepLedger> ledgers;  // one per step
};

struct PointAnalysis {
  const PointResult* point = nullptr;
  std::size_t index = 0;            // in RunResult::points
  std::vector<WaveAnalysis> waves;  // at least one; where one is meant, it is the first
  RequestSteps requests;
  bool mixed = false;  // requests of different contexts
  Bytes resident_kv;   // of all requests, at the end
  DecodeSpeed speed;   // over all requests
  Femtoseconds drained;
  std::vector<ResourceUse> use;             // first step
  std::vector<PlaceTraffic> traffic;        // first step
  std::vector<PlaceTraffic> whole_traffic;  // all steps
  LayerSides sides;
  std::vector<PeakLoad> loads;                     // first step
  PeakLoad bound;                                  // the longest of them
  std::optional<ClosedFormAgreement> closed_form;  // none if the closed form gave no times
  std::optional<double> roofline_share;            // roofline / step time, first step

  [[nodiscard]] const std::vector<StepTime>& steps() const { return waves.front().steps; }
  /// Of the first step.
  [[nodiscard]] const StepLedger& ledger() const { return waves.front().ledgers.front(); }
  [[nodiscard]] Femtoseconds step_time() const { return steps().front().length(); }
  [[nodiscard]] Femtoseconds stack_time() const { return steps().front().stack_length(); }
};

/// One per point, in the order of the result. The result must outlive what is returned. Throws
/// std::logic_error on a point in which no step was executed.
std::vector<PointAnalysis> analyse(const RunResult& result);

/// What speeds are held against: standard if it was run, else the main block order.
BlockOrder baseline_block(const RunConfig& config);
/// The point of a block order at the same context; null if there is none.
const PointAnalysis* same_context(std::span<const PointAnalysis> analyses,
                                  const PointAnalysis& point, BlockOrder block);

/// How many times as long the first step of `other` takes: above 1, `point` is the faster.
double speedup(const PointAnalysis& point, const PointAnalysis& other);

}  // namespace qfs
