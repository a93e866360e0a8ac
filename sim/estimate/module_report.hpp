// The estimate of a native module for people and for programs.
#pragma once

#include <string>

#include "sim/estimate/module_load.hpp"

namespace qfs::estimate {

struct ModuleReport {
  std::string text;
  std::string json;
  bool complete = true;  // nothing is unavailable
};

/// ConfigError for sizes whose counts leave 63 bits.
ModuleReport module_report(const NamedModule& module);

}  // namespace qfs::estimate
