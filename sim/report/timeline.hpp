// timeline.json: the rows as a picture, in the Trace Event format (opens in Perfetto and
// chrome://tracing). Format: "Trace Event Format", Duvall et al., Google, sections on complete,
// flow and metadata events.
#pragma once

#include <string>

#include "sim/run/result.hpp"

namespace qfs {

/// A process per point of the main context, a thread per resource, a slice per row, an arrow per
/// input. Rows that overlap on one resource go to further threads of it. Microseconds, exact to the
/// femtosecond.
std::string timeline_json(const RunResult& result);

}  // namespace qfs
