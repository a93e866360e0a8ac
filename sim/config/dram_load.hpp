// From a DRAM's YAML file or preset to its parameter set, and back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hardware/memory/dram/config.hpp"

namespace qfs {

/// Reads and checks a file, with `key.path=value` overrides put over it in turn. Everything that is
/// wrong is a ConfigError of one line.
dram::DramConfig load_dram(const std::filesystem::path& file,
                           const std::vector<std::string>& overrides = {});
/// The same from a preset of configs/memory or a file: a name that ends in .yaml or has a folder is
/// a file.
dram::DramConfig load_dram_named(const std::string& name,
                                 const std::vector<std::string>& overrides = {});

/// All keys, with units; loading it gives an equal parameter set.
std::string to_yaml(const dram::DramConfig& config);

}  // namespace qfs
