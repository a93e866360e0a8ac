#include "sim/config/load.hpp"

#include "sim/config/section.hpp"
#include "sim/config/validate.hpp"

namespace qfs {

using config::ConfigNode;
namespace {

bool is_timing_only(const ConfigNode& root) {
  const ConfigNode* numerics = root.given("numerics");
  const ConfigNode* mode = numerics == nullptr ? nullptr : numerics->given("mode");
  return mode != nullptr && mode->text == name_of(NumericsMode::off);
}

}  // namespace

RunConfig load_run_config(const std::filesystem::path& file,
                          const std::vector<std::string>& overrides) {
  ConfigNode root = config::read_yaml_map(file);
  for (const std::string& argument : overrides) {
    config::apply_override(root, argument);
  }
  RunConfig run;
  run.model.name = "custom";
  config::read_section(root, "", run, {file, is_timing_only(root)});
  config::validate(run, [&root](std::string_view path) { return config::place_of(root, path); });
  return run;
}

std::string to_yaml(const RunConfig& run) {
  RunConfig copy = run;  // the schema describes what can be written to
  config::Writer writer;
  describe(writer, copy);
  return writer.text();
}

std::string documentation() {
  RunConfig defaults;
  defaults.model.name = "custom";
  config::Documenter documenter;
  describe(documenter, defaults);
  return "| key | legal | default | meaning |\n|---|---|---|---|\n" + documenter.text();
}

}  // namespace qfs
