// The two numeric checks of a run, both against fp64: every executed operation from what its
// producers really made, and the whole decode against the straight-line reference decoder.
#pragma once

#include <functional>

#include "decode/block_order.hpp"
#include "decode/graph.hpp"
#include "decode/inputs.hpp"
#include "decode/numeric_report.hpp"
#include "decode/recompute.hpp"

namespace qfs {

/// `graph` is the right graph, also when a fault has been injected into the schedule. `progress` is
/// called after each operation checked and each step of the reference decoder.
NumericReport check_numerics(const Graph& graph, const Inputs& inputs, const NumericLog& log,
                             const GraphConfig& config, const std::function<void()>& progress = {});

}  // namespace qfs
