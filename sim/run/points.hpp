// From a configuration to its points: what the simulator and the closed form are told about each.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/parameters.hpp"
#include "decode/inputs.hpp"
#include "sim/config/run_config.hpp"
#include "sim/config/system_config.hpp"
#include "sim/run/result.hpp"

namespace qfs {

/// The configured block order and those that it is compared with, each once.
std::vector<BlockOrder> blocks_of(const RunConfig& config);
/// The main context and the further ones, each once, in the order given.
std::vector<std::size_t> contexts_of(const RunConfig& config);

AnalyticParameters analytic_parameters(const RunConfig& config, BlockOrder block,
                                       std::size_t context);
InputsConfig inputs_config(const RunConfig& config);

/// Closed form and roofline of a point.
AnalyticAnswer analytic_answer(const RunConfig& config, BlockOrder block, std::size_t context);

}  // namespace qfs
