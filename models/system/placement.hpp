// Who executes what. An arrangement is a placement of operation kinds on devices; nothing else
// knows arrangements.
#pragma once

#include <string>
#include <vector>

#include "base/ids.hpp"
#include "decode/device_numerics.hpp"
#include "decode/fault.hpp"
#include "decode/graph.hpp"
#include "decode/work.hpp"
#include "hardware/program.hpp"
#include "system/arrangement.hpp"

namespace qfs {

/// A device of an arrangement: its name in tables and what of the model it holds.
struct DeviceRole {
  std::string name;
  Holdings holdings;
};

/// By DeviceId. The compute device comes first in every arrangement; the cache device, where there
/// is one, second.
std::vector<DeviceRole> roles_of(Arrangement arrangement);

/// The device that executes operations of this kind.
DeviceId device_of(Arrangement arrangement, OpKind kind);

/// Throws ConfigError if the graph has nothing that the fault could strike: a fault that never
/// happens proves nothing.
void require_strikes(const Graph& graph, Arrangement arrangement, const Fault& fault);

/// The graph placed. All requests of the graph are one wave: a batch holds
/// the operations of one kind, layer and step of all of them. A dropped edge (fault) is no longer
/// waited for, but still read.
Program make_program(Graph graph, const CountingRules& rules, Arrangement arrangement,
                     const Fault& fault = {});

}  // namespace qfs
