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

/// The ideal device where a kernel was not fitted.
void fill_in_units(ConfigNode& root, const char* section) {
  if (root.find(section) == nullptr) {
    ConfigNode node = config::map_node(section, root.where);
    node.children.push_back(config::scalar_node("units", root.where, "1"));
    root.children.push_back(node);
  }
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
  ConfigNode root = config::read_yaml_map(file);
  const bool has_narrow_product = root.find("narrow_product") != nullptr;
  for (const char* section : {"sweep", "product", "narrow_product"}) {
    fill_in_units(root, section);
  }
  FittedDevice fitted;
  config::read_section(root, "", fitted, {file});
  if (!has_narrow_product) {
    fitted.cost.narrow_product = fitted.cost.product;
  }
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
