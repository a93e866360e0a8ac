#include "sim/config/cost_load.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "sim/config/cost_schema.hpp"
#include "sim/config/presets.hpp"
#include "sim/config/section.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;
using config::ConfigNode;

bool is_file_name(const std::string& name) {
  return name.find_first_of("/\\") != std::string::npos || name.ends_with(".yaml") ||
         name.ends_with(".yml");
}

}  // namespace

Seconds shown_by(const MeasuringClock& clock, Seconds time) {
  if (clock.tick == Seconds(0)) {
    return time;
  }
  // Flat at each tick and twice as steep between: half of the launches start with the clock.
  const double turn = 2 * std::numbers::pi;
  const double angle = turn * (time - clock.phase).value() / clock.tick.value();
  return time - std::sin(angle) / turn * clock.tick;
}

FittedDevice load_fitted(const fs::path& file) {
  const ConfigNode root = config::read_yaml_map(file);
  FittedDevice fitted;
  config::read_section(root, "", fitted, {file});
  return fitted;
}

FittedDevice load_fitted_named(const std::string& name, const fs::path& start) {
  if (is_file_name(name)) {
    return load_fitted(name);
  }
  const fs::path file = preset_file(PresetKind::fitted, name, start);
  if (!file.empty()) {
    return load_fitted(file);
  }
  const std::vector<std::string> legal = preset_names(PresetKind::fitted, start);
  config::complain({"fitted device"}, "",
                   fmt::format("{} is no preset of configs/fitted", config::in_quotes(name)),
                   fmt::format("{}; or a file's name ending in .yaml", config::joined(legal)),
                   config::nearest_spelling(name, legal));
}

std::string to_yaml(const FittedDevice& device) {
  FittedDevice copy = device;  // the schema describes what can be written to
  config::Writer writer;
  describe(writer, copy);
  return writer.text();
}

}  // namespace qfs
