// From a graph and a layout to what the devices are to execute.
#pragma once

#include <cstddef>

#include "decode/fault.hpp"
#include "decode/graph.hpp"
#include "decode/work.hpp"
#include "hardware/program.hpp"
#include "system/layout.hpp"

namespace qfs {

/// Throws ConfigError if the graph has nothing that the fault could strike: a fault that never
/// happens proves nothing.
void require_strikes(const Graph& graph, const Layout& layout, const Fault& fault);

/// The graph placed; requests 0 .. wave - 1 are one wave, the next so many another. A dropped edge
/// (fault) is no longer waited for, but still read.
Program make_program(Graph graph, const CountingRules& rules, const Layout& layout,
                     std::size_t wave, const Fault& fault = {});

}  // namespace qfs
