// What a block order gains over `standard` with the same devices: where most, and how far; and up
// to which latency of the link two devices are worth more than one.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "base/units.hpp"
#include "sim/config/run_config.hpp"

namespace qfs {

/// The first step of a run, or nothing where it is not known.
using StepTimer = std::function<std::optional<Seconds>(const RunConfig&)>;
/// By simulation, each in a process of its own.
std::optional<Seconds> simulated_step(const RunConfig& run);
/// By the closed form; of DRAM at what its long reads get.
std::optional<Seconds> closed_form_step(const RunConfig& run);

struct Gain {
  std::size_t context = 0;  // cached positions per request
  double share = 0;         // step time of standard over that of the block, less 1
};

/// A gain that rises to one maximum and falls, as long as sweeps grow in proportion to their
/// positions; found to one position. With DRAM a refresh more or less in a step moves the gain a
/// little, and where it is largest is found to about that.
struct GainStudy {
  std::optional<Gain> largest;             // none if it is never above 0
  std::optional<std::size_t> falls_below;  // first context beyond it with less than the share
                                           // asked for; none: not up to the limit, or never above
};

/// Of `run.block` in runs of one token, at contexts up to 2^30. share > 0.
GainStudy study_gain(const RunConfig& run, double share, const StepTimer& timer);

/// One way; at run.workload.context the step of the run's arrangement and block takes as long as
/// that of one compute device that holds everything, in block order standard. None if it takes
/// longer without any latency, or less at a second.
std::optional<Seconds> break_even_latency(const RunConfig& run, const StepTimer& timer);

/// Step time of `standard` over that of run.block, less 1, for one token of run.workload.context.
/// None where a time is not known.
struct StepPair {
  Seconds own{0};
  Seconds standard{0};
  [[nodiscard]] double gain() const { return standard.value() / own.value() - 1; }
};
std::optional<StepPair> steps_of(const RunConfig& run, const StepTimer& timer);

/// The largest latency of the link, one way, with which the block still gains the share over
/// standard at run.workload.context: what is nearer than the next power of two beyond it is
/// taken to gain less with more. None if it gains less with every power of two from 1 ns to 1 s.
std::optional<Seconds> furthest_latency(const RunConfig& run, double share, const StepTimer& timer);

}  // namespace qfs
