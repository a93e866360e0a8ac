#include "sim/crossover/variations.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "sim/config/load.hpp"

namespace qfs {
namespace {

[[noreturn]] void refuse(const std::string& argument, const char* what) {
  throw ConfigError(fmt::format("--vary {}: {}; legal: key.path=value,value,...", argument, what));
}

std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

/// The next combination of one index for each variation; false after the last.
bool advance(std::vector<std::size_t>& at, const std::vector<Variation>& variations) {
  for (std::size_t i = at.size(); i-- > 0;) {
    if (++at[i] < variations[i].values.size()) {
      return true;
    }
    at[i] = 0;
  }
  return false;
}

}  // namespace

Variation parse_variation(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    refuse(argument, "no key");
  }
  Variation variation{argument.substr(0, equals), split_values(argument.substr(equals + 1))};
  for (const std::string& value : variation.values) {
    if (value.empty()) {
      refuse(argument, "an empty value");
    }
  }
  return variation;
}

std::vector<Variation> parse_variations(const std::vector<std::string>& arguments) {
  std::vector<Variation> variations;
  variations.reserve(arguments.size());
  for (const std::string& argument : arguments) {
    variations.push_back(parse_variation(argument));
  }
  return variations;
}

std::vector<std::string> keys_of(const std::vector<Variation>& variations) {
  std::vector<std::string> keys;
  keys.reserve(variations.size());
  for (const Variation& variation : variations) {
    keys.push_back(variation.key);
  }
  return keys;
}

std::vector<VariedConfig> load_varied(const std::filesystem::path& file,
                                      const std::vector<std::string>& overrides,
                                      const std::vector<Variation>& variations) {
  std::vector<VariedConfig> runs;
  std::vector<std::size_t> at(variations.size());
  do {
    std::vector<std::string> all = overrides;
    std::vector<std::string> values;
    for (std::size_t i = 0; i < at.size(); ++i) {
      values.push_back(variations[i].values[at[i]]);
      all.push_back(variations[i].key + "=" + values.back());
    }
    runs.push_back({std::move(values), load_run_config(file, all)});
  } while (advance(at, variations));
  return runs;
}

}  // namespace qfs
