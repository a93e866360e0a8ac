// One run file read several times, with some of its keys varied in every combination.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/run_config.hpp"

namespace qfs {

/// A key of the run and the values that it takes in turn, as YAML text.
struct Variation {
  std::string key;
  std::vector<std::string> values;
};

/// From `key.path=value,value,...`; commas within brackets and braces belong to a value.
/// ConfigError for anything else.
Variation parse_variation(const std::string& argument);
std::vector<Variation> parse_variations(const std::vector<std::string>& arguments);

std::vector<std::string> keys_of(const std::vector<Variation>& variations);

/// One combination of the values, in the order of the variations.
struct VariedConfig {
  std::vector<std::string> values;
  RunConfig config;
};

/// Every combination, the last variation fastest. ConfigError for what does not load.
std::vector<VariedConfig> load_varied(const std::filesystem::path& file,
                                      const std::vector<std::string>& overrides,
                                      const std::vector<Variation>& variations);

}  // namespace qfs
