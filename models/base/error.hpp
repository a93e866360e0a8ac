// The two ways in which a run ends badly that are not our own mistake (those are asserts or
// logic_error).
#pragma once

#include <stdexcept>

namespace qfs {

/// The user's configuration cannot be run. what() is one line: where, what was given, what is
/// legal.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The configuration was legal, but the run could not be carried to its end.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace qfs
