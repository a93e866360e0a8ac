// The estimate of a run for people and for programs.
#pragma once

#include <string>

#include "sim/estimate/run_estimate.hpp"

namespace qfs::estimate {

/// Every point in a line, and the operations of a layer of the first.
std::string run_text(const RunConfig& config, const RunEstimate& estimate);
/// Every operation of every layer of every step of every point; layers that do the same are told
/// together, each with its own time.
std::string run_json(const RunConfig& config, const RunEstimate& estimate);

}  // namespace qfs::estimate
