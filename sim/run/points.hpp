// From a configuration to its points: what the simulator and the closed form are told about each.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/arrangement.hpp"
#include "analysis/closed_form.hpp"
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

AnalyticArrangement analytic_arrangement(Arrangement arrangement);
/// The closed form knows waves of requests that end together, on one pool that gathers whole waves;
/// of what it does not know its parameters say nothing.
AnalyticParameters analytic_parameters(const RunConfig& config, BlockOrder block,
                                       std::size_t context);
/// The closed form of a point; none where it does not apply.
std::optional<AnalyticTimes> closed_form(const RunConfig& config, BlockOrder block,
                                         std::size_t context);
InputsConfig inputs_config(const RunConfig& config);

/// Closed form and bounds of a point.
AnalyticAnswer analytic_answer(const RunConfig& config, BlockOrder block, std::size_t context,
                               const std::optional<AchievedBandwidth>& achieved);

}  // namespace qfs
