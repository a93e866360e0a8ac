// The one reporter: everything that a run says, made from its tables of executed operations.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/run/result.hpp"

namespace qfs {

struct Report {
  std::string table;                                       // for the terminal
  std::vector<std::pair<std::string, std::string>> files;  // name and content, for write_results
  bool numerics_passed = true;                             // true if nothing was checked
  std::string numeric_failure;  // the first, in one line: block, operation, layer, step, request
};

/// The same input gives the same bytes: no host times, dates or paths.
Report make_report(const RunResult& result, const std::string& resolved_config_yaml);

}  // namespace qfs
