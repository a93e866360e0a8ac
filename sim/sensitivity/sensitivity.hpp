// How an answer hangs on each number of the hardware: what a block order gains over `standard` when
// one number after the other is less and more than given; and how far apart the devices may be.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "sim/config/run_config.hpp"
#include "sim/crossover/gain_study.hpp"
#include "sim/crossover/variations.hpp"

namespace qfs {

/// A number of a device or of the link, moved: times, rates, the size of a cache, shares. Facts of
/// kernels, such as their tiles, and the timing of DRAM are not moved.
struct MovedNumber {
  std::string key;  // "cache_device.kernels.sweep.launch"
  StepPair less;
  StepPair more;
  /// By how much the gain moves, both ways together.
  [[nodiscard]] double span() const;
};

struct SensitivityStudy {
  std::vector<std::string> values;  // of what is varied
  StepPair given;
  std::vector<MovedNumber> moved;   // of what changes a time at all, the largest span first
  std::size_t without_effect = 0;   // others
  std::optional<Seconds> furthest;  // gain_study.hpp
};

/// For one token at run.workload.context. `by`: share by which each number is lessened and raised,
/// in (0, 1); `share`: of furthest_latency. Precondition: run.block is not standard, and there is a
/// link; ConfigError else. Throws RunError where `timer` knows no time.
SensitivityStudy study_sensitivity(const RunConfig& run, double by, double share,
                                   const StepTimer& timer);

/// Of every combination of the variations, by simulation; progress goes to stderr.
std::vector<SensitivityStudy> study_sensitivities(const std::vector<VariedConfig>& runs, double by,
                                                  double share);

std::string sensitivity_table(const std::vector<Variation>& variations,
                              const std::vector<SensitivityStudy>& studies, double by,
                              double share);
std::string sensitivity_csv(const std::vector<Variation>& variations,
                            const std::vector<SensitivityStudy>& studies, double by, double share);

}  // namespace qfs
