// Reads a timeline back and holds it against the rows it was drawn from.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/run/result.hpp"

namespace qfs::test {

/// What is wrong with the timeline of this result, in one line; empty if nothing is. Checked: every
/// event has its fields and a named process and thread; slices of a thread do not overlap; every
/// row of the main context is there once, with its times; every input is one arrow, from inside a
/// slice of the producer's thread to the start of the consumer's.
std::string timeline_fault(const nlohmann::ordered_json& timeline, const RunResult& result);

}  // namespace qfs::test
