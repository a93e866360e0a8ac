#include "sim/config/section.hpp"

#include <algorithm>

namespace qfs::config {
namespace {

namespace fs = std::filesystem;

/// A model is also the path of a config.json, or of the folder that holds it, seen from the run
/// file's folder.
fs::path config_json_path(const std::string& text, const fs::path& run_file) {
  if (!text.ends_with(".json") && text.find('/') == std::string::npos) {
    return {};
  }
  const fs::path path = run_file.parent_path() / text;
  std::error_code error;
  return fs::is_directory(path, error) ? path / "config.json" : path;
}

std::string missing_config_json(const std::string& text, const fs::path& json) {
  const bool is_folder = !text.ends_with(json.filename().string());
  return is_folder ? fmt::format("{}: no such file: {}", in_quotes(text), json.string())
                   : fmt::format("{}: no such file", in_quotes(text));
}

bool is_yaml_file(const std::string& text) {
  return text.ends_with(".yaml") || text.ends_with(".yml");
}

}  // namespace

void refuse_unknown_keys(const ConfigNode& map, const std::string& path,
                         const std::vector<std::string>& legal) {
  for (const ConfigNode& child : map.children) {
    if (std::find(legal.begin(), legal.end(), child.key) == legal.end()) {
      complain(child.where, joined_path(path, child.key), "unknown key", joined(legal),
               nearest_spelling(child.key, legal));
    }
  }
}

void refuse_opened_scalar(const ConfigNode& node, const std::string& path) {
  const ConfigNode* scalar = node.find("preset");
  if (scalar != nullptr && !node.text.empty()) {
    complain(scalar->where, path, in_quotes(node.text), "a map of keys");
  }
}

void require_map(const ConfigNode& node, const std::string& path, const char* legal) {
  if (node.kind != ConfigNode::Kind::map) {
    complain(node.where, path, described(node), legal);
  }
}

ConfigNode read_preset(PresetKind kind, const ConfigNode& name, const std::string& path,
                       const Reading& reading) {
  const std::vector<std::string> names = preset_names(kind, reading.run_file);
  const std::string legal =
      fmt::format("{}{}", joined(names),
                  kind == PresetKind::model    ? ", or the path of a config.json"
                  : kind == PresetKind::memory ? ", or a file whose name ends in .yaml"
                                               : "");
  if (name.kind != ConfigNode::Kind::scalar) {
    complain(name.where, path, described(name), legal);
  }
  if (kind == PresetKind::model) {
    if (const fs::path json = config_json_path(name.text, reading.run_file); !json.empty()) {
      std::error_code error;
      if (!fs::exists(json, error)) {
        complain(name.where, path, missing_config_json(name.text, json), legal);
      }
      return read_hugging_face(json, reading);
    }
  }
  if (kind == PresetKind::memory && is_yaml_file(name.text)) {
    return read_yaml_map(reading.run_file.parent_path() / name.text);
  }
  const fs::path file = preset_file(kind, name.text, reading.run_file);
  if (file.empty()) {
    complain(name.where, path, in_quotes(name.text), legal, nearest_spelling(name.text, names));
  }
  return read_yaml_map(file);
}

void rename_modified(ModelShape& model, const ConfigNode& own_keys) {
  if (!own_keys.children.empty() && own_keys.find("name") == nullptr) {
    model.name += "-modified";
  }
}

}  // namespace qfs::config
