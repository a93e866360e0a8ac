// Verifies a trace of DRAM commands pair by pair: slow, and with no state in common with the model
// but the table of rules.
#pragma once

#include <string>
#include <vector>

#include "hardware/memory/dram/command.hpp"
#include "hardware/memory/dram/config.hpp"

namespace qfs::test {

/// What is wrong with the trace, each in a line; empty if nothing is.
/// - Every pair of commands keeps every rule of timing_rules() that holds for it.
/// - No bus carries two commands at once; a column command never starts between clock edges.
/// - No data bus carries two bursts at once.
/// - Only closed banks are activated and refreshed, only the open row is accessed.
/// - An activate of two halves has its second in time, with nothing to the bank between them; no
///   access finds its data clock stopped.
/// - Each rank is refreshed once in every interval up to the trace's end, late by less than an
///   interval.
std::vector<std::string> mistakes_of(const dram::DramConfig& config,
                                     const std::vector<dram::IssuedCommand>& trace);

}  // namespace qfs::test
