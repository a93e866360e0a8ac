#include "sim/config/dram_load.hpp"

#include <fmt/format.h>

#include "sim/config/dram_check.hpp"
#include "sim/config/dram_schema.hpp"
#include "sim/config/presets.hpp"
#include "sim/config/section.hpp"

namespace qfs {
namespace {

using config::ConfigNode;
namespace fs = std::filesystem;

bool is_file_name(const std::string& name) {
  return name.find_first_of("/\\") != std::string::npos || name.ends_with(".yaml") ||
         name.ends_with(".yml");
}

}  // namespace

dram::DramConfig load_dram(const fs::path& file, const std::vector<std::string>& overrides) {
  ConfigNode root = config::read_yaml_map(file);
  for (const std::string& argument : overrides) {
    config::apply_override(root, argument);
  }
  dram::DramConfig config;
  config.preset = file.stem().string();
  config::read_section(root, "", config, {file});
  config::check_dram(root, "", config);
  return config;
}

dram::DramConfig load_dram_named(const std::string& name,
                                 const std::vector<std::string>& overrides) {
  if (is_file_name(name)) {
    return load_dram(name, overrides);
  }
  const fs::path file = preset_file(PresetKind::memory, name);
  if (file.empty()) {
    const std::vector<std::string> legal = preset_names(PresetKind::memory);
    config::complain({"memory"}, "",
                     fmt::format("{} is no preset of configs/memory", config::in_quotes(name)),
                     fmt::format("{}; or a file's name ending in .yaml", config::joined(legal)),
                     config::nearest_spelling(name, legal));
  }
  return load_dram(file, overrides);
}

std::string to_yaml(const dram::DramConfig& config) {
  dram::DramConfig copy = config;  // the schema describes what can be written to
  config::Writer writer;
  describe(writer, copy);
  return writer.text();
}

}  // namespace qfs
