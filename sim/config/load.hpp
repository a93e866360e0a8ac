// From a run's YAML file to the structs that the modules are built from, and back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/run_config.hpp"

namespace qfs {

/// Reads and checks a run file, with `key.path=value` overrides put over it in turn (the last one
/// wins). Everything that is wrong is a ConfigError of one line: place, key, what was given, what
/// is legal, the nearest spelling.
RunConfig load_run_config(const std::filesystem::path& file,
                          const std::vector<std::string>& overrides = {});

/// The resolved configuration: every key, with units. Loading it gives an equal configuration,
/// wherever it lies.
std::string to_yaml(const RunConfig& run);

/// A Markdown table of all keys: legal values, default, meaning.
std::string documentation();

}  // namespace qfs
