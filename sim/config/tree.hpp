// What a YAML file or a `--set` argument holds, with the place of every value: the form in which
// configurations are merged before they are read into structs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/complaint.hpp"

namespace qfs::config {

struct ConfigNode {
  enum class Kind { nothing, null, scalar, list, map };  // null: takes the key away
  Kind kind = Kind::nothing;
  std::string key;                   // within its map
  Where where;                       // of its key; of itself in a list
  std::string text;                  // of a scalar, and of the map that an override made of it
  std::vector<ConfigNode> children;  // of a map, each key once, or of a list

  [[nodiscard]] const ConfigNode* find(std::string_view wanted) const;
  [[nodiscard]] ConfigNode* find(std::string_view wanted);
  /// The same, without those that are null.
  [[nodiscard]] const ConfigNode* given(std::string_view wanted) const;
};

ConfigNode map_node(std::string key, Where where);
ConfigNode scalar_node(std::string key, Where where, std::string text);

/// What a message calls the node: `'text'`, `a list`, `a map`, `null`, `nothing`.
std::string described(const ConfigNode& node);
std::string joined_path(std::string_view path, std::string_view key);

/// The text of a file; ConfigError if it is missing, a folder, unreadable, empty, huge or not text.
/// `where` and `key` say who asked for it.
std::string read_text_file(const std::filesystem::path& file);

/// The one document in the text, every line of which is `source:line`. ConfigError if it is not
/// YAML, holds several documents, or gives a key twice.
ConfigNode parse_yaml(const std::string& text, const std::string& source);
/// The map in a file.
ConfigNode read_yaml_map(const std::filesystem::path& file);

/// Puts the value of `key.path=value` into the tree. A single value on the way becomes its map's
/// `preset`.
void apply_override(ConfigNode& root, const std::string& argument);

/// The place of a key, or of the nearest enclosing key that was given.
Where place_of(const ConfigNode& root, std::string_view path);

}  // namespace qfs::config
