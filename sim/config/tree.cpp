#include "sim/config/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace qfs::config {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_file = 1 << 20;

[[noreturn]] void complain_file(const fs::path& file, std::string_view given) {
  complain({file.string()}, "", given, "a text file of at most 1 MiB");
}

bool is_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c < 0 || c >= ' ' || c == '\n' || c == '\r' || c == '\t';
  });
}

constexpr const char* override_form = "--set key.path=value, as in --set workload.batch=8";

/// The keys of `a.b.c`, none of them empty.
std::vector<std::string> split_path(std::string_view path, const Where& where) {
  std::vector<std::string> keys;
  while (true) {
    const std::size_t dot = path.find('.');
    keys.emplace_back(path.substr(0, dot));
    if (keys.back().empty()) {
      complain(where, "", "a key is empty", override_form);
    }
    if (dot == std::string_view::npos) {
      return keys;
    }
    path.remove_prefix(dot + 1);
  }
}

ConfigNode& child(ConfigNode& parent, const std::string& key, const Where& where) {
  if (ConfigNode* found = parent.find(key)) {
    return *found;
  }
  ConfigNode made;
  made.key = key;
  made.where = where;
  return parent.children.emplace_back(std::move(made));
}

/// Makes a map of whatever the node is, so that a key can be put into it.
void open_map(ConfigNode& node, const std::string& path, const Where& where) {
  if (node.kind == ConfigNode::Kind::list) {
    complain(where, path, "is a list", "to replace the whole list, as in --set compare=[standard]");
  }
  if (node.kind == ConfigNode::Kind::map) {
    return;
  }
  ConfigNode map = map_node(node.key, where);
  if (node.kind == ConfigNode::Kind::scalar) {
    map.text = node.text;
    map.children.push_back(scalar_node("preset", node.where, node.text));
  }
  node = std::move(map);
}

}  // namespace

const ConfigNode* ConfigNode::find(std::string_view wanted) const {
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const ConfigNode& child) { return child.key == wanted; });
  return kind == Kind::map && found != children.end() ? &*found : nullptr;
}

ConfigNode* ConfigNode::find(std::string_view wanted) {
  return const_cast<ConfigNode*>(static_cast<const ConfigNode*>(this)->find(wanted));
}

const ConfigNode* ConfigNode::given(std::string_view wanted) const {
  const ConfigNode* found = find(wanted);
  return found != nullptr && found->kind != Kind::null ? found : nullptr;
}

ConfigNode map_node(std::string key, Where where) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::map;
  node.key = std::move(key);
  node.where = std::move(where);
  return node;
}

ConfigNode scalar_node(std::string key, Where where, std::string text) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::scalar;
  node.key = std::move(key);
  node.where = std::move(where);
  node.text = std::move(text);
  return node;
}

std::string described(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::nothing:
      return "nothing";
    case ConfigNode::Kind::null:
      return "null";
    case ConfigNode::Kind::scalar:
      return in_quotes(node.text);
    case ConfigNode::Kind::list:
      return "a list";
    case ConfigNode::Kind::map:
      return "a map";
  }
  return {};
}

std::string joined_path(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string read_text_file(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) {
    complain_file(file, "no such file");
  }
  if (fs::is_directory(status)) {
    complain_file(file, "is a folder");
  }
  if (!fs::is_regular_file(status)) {
    complain_file(file, "is not a regular file");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    complain_file(file, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  if (fs::file_size(file, error) > largest_file) {
    complain_file(file, "is larger than 1 MiB");
  }
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!is_text(text)) {
    complain_file(file, "is not a text file");
  }
  return text;
}

ConfigNode read_yaml_map(const fs::path& file) {
  ConfigNode root = parse_yaml(read_text_file(file), file.string());
  if (root.kind == ConfigNode::Kind::nothing) {
    complain({file.string()}, "", "the file holds no keys",
             "a map of keys (see configs/README.md)");
  }
  if (root.kind != ConfigNode::Kind::map) {
    complain(root.where, "", fmt::format("the file holds {}", described(root)),
             "a map of keys (see configs/README.md)");
  }
  return root;
}

void apply_override(ConfigNode& root, const std::string& argument) {
  const Where where{fmt::format("--set {}", argument)};
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos) {
    complain(where, "", "has no '='", override_form);
  }
  ConfigNode value = parse_yaml(argument.substr(equals + 1), where.source);
  ConfigNode* node = &root;
  std::string path;
  for (const std::string& key : split_path(argument.substr(0, equals), where)) {
    open_map(*node, path, where);
    node = &child(*node, key, where);
    path = joined_path(path, key);
  }
  value.key = node->key;
  value.where = where;
  *node = std::move(value);
}

Where place_of(const ConfigNode& root, std::string_view path) {
  const ConfigNode* node = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const ConfigNode* next = node->find(path.substr(0, dot));
    if (next == nullptr) {
      break;
    }
    node = next;
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return node->where;
}

}  // namespace qfs::config
