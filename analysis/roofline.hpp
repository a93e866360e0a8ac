// Lower bounds: no resource can finish its share of the work faster than at its peak rate.
#pragma once

#include <array>
#include <cstddef>

#include "analysis/arrangement.hpp"
#include "analysis/parameters.hpp"
#include "analysis/resources.hpp"

namespace qfs {

struct Roofline {
  Seconds time;                                    // the longest of busy
  AnalyticResource bound{};                        // whose; the first named above if several
  std::array<Seconds, analytic_resources> busy{};  // by AnalyticResource

  [[nodiscard]] Seconds busy_of(AnalyticResource resource) const {
    return busy[static_cast<std::size_t>(resource)];
  }
};

/// Bounds of step `token` (from 0) of a wave, whatever else is in flight. Counted is what the step
/// cannot end without: what its end waits for, and messages that are surely ahead of such on their
/// port. With current_token merge that leaves out the appends and the last layer's k, v message,
/// which may still be under way when the step ends. (Ranks without an LM head start a later step
/// each on its own, so there only token 0 is bounded.)
Roofline step_roofline(AnalyticArrangement arrangement, const AnalyticParameters& parameters,
                       std::size_t token);

/// Bounds of one round, a token of every wave in flight, when rounds follow each other for long:
/// all that step `token` of all waves does. An executor does one operation at a time, each of which
/// takes its launches and the longer of memory and arithmetic.
Roofline round_bound(AnalyticArrangement arrangement, const AnalyticParameters& parameters,
                     std::size_t token);

Roofline two_device_roofline(const AnalyticParameters& parameters, std::size_t token);
Roofline colocated_roofline(const AnalyticParameters& parameters, std::size_t token);
Roofline pooled_roofline(const AnalyticParameters& parameters, std::size_t token);
Roofline tensor_parallel_roofline(const AnalyticParameters& parameters, std::size_t token);

}  // namespace qfs
