// Crossovers of a run, and of the same run with some of its keys varied.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/crossover/gain_study.hpp"
#include "sim/crossover/variations.hpp"
#include "sim/run/result.hpp"

namespace qfs {

/// gain_study.hpp, by simulation or by closed form.
struct GainFindings {
  GainStudy gain;
  std::optional<Seconds> break_even_latency;
};

/// One combination of the values, in the order of the variations.
struct VariedRun {
  std::vector<std::string> values;
  RunConfig config;
  std::optional<AchievedBandwidth> achieved = {};
  std::vector<Crossover> crossovers = {};
  GainFindings simulated = {};    // of a block that is not `standard`
  GainFindings closed_form = {};  // likewise
};

/// Every combination, the last variation fastest; all are read before any is simulated.
/// `least_gain`: the share below which a gain counts no more. Progress goes to stderr. ConfigError
/// for what does not load or has no crossovers (crossover_search.hpp).
std::vector<VariedRun> find_varied_crossovers(const std::filesystem::path& file,
                                              const std::vector<std::string>& overrides,
                                              const std::vector<Variation>& variations,
                                              double least_gain);

/// A line for each crossover of each combination.
std::string crossover_table(const std::vector<Variation>& variations,
                            const std::vector<VariedRun>& runs);
/// A line for what each combination gains by simulation, and one by closed form; empty if none runs
/// another block than `standard`.
std::string gain_table(const std::vector<Variation>& variations, const std::vector<VariedRun>& runs,
                       double least_gain);
std::string crossover_csv(const std::vector<Variation>& variations,
                          const std::vector<VariedRun>& runs);

}  // namespace qfs
