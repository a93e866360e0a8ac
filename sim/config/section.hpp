// Visitors of schema.hpp: one reads a struct from the tree, strictly; one writes it; one documents
// it.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/tree.hpp"

namespace qfs::config {

inline constexpr const char* none_text = "none";  // a section that is missing

/// What is known of the run before its keys are read.
struct Reading {
  std::filesystem::path run_file;
  bool timing_only = false;  // no values are computed
};

/// Collects the names of a struct's keys.
class KeyNames {
 public:
  template <class T, class Form>
  void field(const Key& key, T&, const Form&) {
    names.emplace_back(key.name);
  }
  template <class T>
  void section(const Key& key, T&) {
    names.emplace_back(key.name);
  }
  template <class T>
  void sections(const Key& key, std::vector<T>&) {
    names.emplace_back(key.name);
  }
  template <class T>
  void preset_section(const Key& key, T&, PresetKind) {
    names.emplace_back(key.name);
  }
  std::vector<std::string> names;
};

template <class T>
std::vector<std::string> key_names() {
  T value{};
  KeyNames visit;
  describe(visit, value);
  return visit.names;
}

/// ConfigError for the first key of the map that is not among the legal ones.
void refuse_unknown_keys(const ConfigNode& map, const std::string& path,
                         const std::vector<std::string>& legal);
/// ConfigError for a single value over which an override has put keys as if it were a preset.
void refuse_opened_scalar(const ConfigNode& node, const std::string& path);
/// ConfigError unless the node is a map.
void require_map(const ConfigNode& node, const std::string& path, const char* legal);

/// The shape in a Hugging Face config.json, as a map with our keys, or ConfigError for what cannot
/// be modelled.
ConfigNode read_hugging_face(const std::filesystem::path& file, const Reading& reading);

/// The map that a preset's name stands for. `name` is the node that holds it.
ConfigNode read_preset(PresetKind kind, const ConfigNode& name, const std::string& path,
                       const Reading& reading);

class Reader {
 public:
  /// With a preset behind the map, no key is required.
  Reader(const ConfigNode& map, std::string path, const Reading& reading, bool has_preset)
      : map_(map), path_(std::move(path)), reading_(reading), has_preset_(has_preset) {}

  template <class T, class Form>
  void field(const Key& key, T& value, const Form& form) {
    const std::string path = joined_path(path_, key.name);
    const ConfigNode* node = map_.given(key.name);
    if (node == nullptr) {
      require_absent_is_legal(key, path, form.legal(value));
      return;
    }
    try {
      form.read(*node, value);
    } catch (const ValueError& error) {
      complain(error.where.value_or(node->where), path, error.what(),
               error.legal.empty() ? form.legal(value) : error.legal, error.nearest);
    }
  }

  template <class T>
  void section(const Key& key, T& value);
  /// Missing, or `none`, where not given.
  template <class T>
  void section(const Key& key, std::optional<T>& value);
  /// A list of maps.
  template <class T>
  void sections(const Key& key, std::vector<T>& values);
  template <class T>
  void preset_section(const Key& key, T& value, PresetKind kind);
  /// `none` where the section may be missing.
  template <class T>
  void preset_section(const Key& key, std::optional<T>& value, PresetKind kind);

 private:
  void require_absent_is_legal(const Key& key, const std::string& path,
                               const std::string& legal) const {
    if (key.presence == Presence::optional || has_preset_) {
      return;
    }
    const ConfigNode* removed = map_.find(key.name);
    const Where& where = removed == nullptr ? map_.where : removed->where;
    const char* because = key.needed_because;
    complain(where, path, because == nullptr ? "missing" : fmt::format("missing, {}", because),
             legal);
  }
  template <class T>
  void fill(T& value, const ConfigNode& map, const std::string& path, PresetKind kind);
  /// Whether the key does not apply; then it must not have been given.
  static bool refused(const Key& key, const ConfigNode* node, const std::string& path) {
    if (key.refused_because != nullptr && node != nullptr) {
      complain(node->where, path, key.refused_because,
               fmt::format("nothing here; remove it, or --set {}=null", path));
    }
    return key.refused_because != nullptr;
  }

  const ConfigNode& map_;
  std::string path_;
  const Reading& reading_;
  bool has_preset_;
};

/// Fills the struct from the map.
template <class T>
void read_section(const ConfigNode& map, const std::string& path, T& value, const Reading& reading,
                  bool has_preset = false) {
  require_map(map, path, "a map of keys");
  refuse_unknown_keys(map, path, key_names<T>());
  Reader reader(map, path, reading, has_preset);
  describe(reader, value);
}

template <class T>
void Reader::section(const Key& key, T& value) {
  const ConfigNode* node = map_.given(key.name);
  const ConfigNode empty = map_node(key.name, map_.where);
  const std::string path = joined_path(path_, key.name);
  if (refused(key, node, path)) {
    return;
  }
  if (node != nullptr) {
    refuse_opened_scalar(*node, path);
  }
  read_section(node == nullptr ? empty : *node, path, value, reading_, has_preset_);
}

template <class T>
void Reader::section(const Key& key, std::optional<T>& value) {
  const ConfigNode* node = map_.given(key.name);
  if (node == nullptr) {
    return;
  }
  if (node->kind == ConfigNode::Kind::scalar && node->text == none_text) {
    value.reset();
    return;
  }
  if (!value) {
    value.emplace();
  }
  section(key, *value);
}

template <class T>
void Reader::sections(const Key& key, std::vector<T>& values) {
  const ConfigNode* node = map_.given(key.name);
  if (node == nullptr) {
    return;
  }
  const std::string path = joined_path(path_, key.name);
  if (node->kind != ConfigNode::Kind::list) {
    complain(node->where, path, described(*node), "a list in brackets, each item a map of keys");
  }
  values.clear();
  for (const ConfigNode& item : node->children) {
    read_section(item, path, values.emplace_back(), reading_);
  }
}

template <class T>
void Reader::preset_section(const Key& key, T& value, PresetKind kind) {
  const std::string path = joined_path(path_, key.name);
  const ConfigNode* node = map_.given(key.name);
  if (refused(key, node, path)) {
    return;
  }
  if (node == nullptr) {
    require_absent_is_legal(key, path, "a preset's name, or a map");
    return;
  }
  ConfigNode map = *node;
  if (node->kind == ConfigNode::Kind::scalar) {
    map = map_node(key.name, node->where);
    map.children.push_back(scalar_node("preset", node->where, node->text));
  }
  require_map(map, path, "a preset's name, or a map");
  fill(value, map, path, kind);
}

template <class T>
void Reader::preset_section(const Key& key, std::optional<T>& value, PresetKind kind) {
  const ConfigNode* node = map_.given(key.name);
  if (node == nullptr) {
    return;
  }
  // Single keys over what the preset around them gives.
  const bool over = has_preset_ && value && node->kind == ConfigNode::Kind::map;
  if (over && node->given("preset") == nullptr) {
    read_section(*node, joined_path(path_, key.name), *value, reading_, true);
    return;
  }
  value.reset();
  if (node->kind != ConfigNode::Kind::scalar || node->text != none_text) {
    preset_section(key, value.emplace(), kind);
  }
}

/// What a shape is called of which a preset was the beginning.
void rename_modified(ModelShape& model, const ConfigNode& own_keys);
inline void rename_modified(const DeviceConfig&, const ConfigNode&) {}
inline void rename_modified(const LinkConfig&, const ConfigNode&) {}
inline void rename_modified(const dram::DramConfig&, const ConfigNode&) {}
inline void rename_modified(const FittedDevice&, const ConfigNode&) {}

/// The preset's numbers first, then the map's own keys over them.
template <class T>
void Reader::fill(T& value, const ConfigNode& map, const std::string& path, PresetKind kind) {
  std::vector<std::string> legal = key_names<T>();
  const std::size_t all_keys = legal.size();
  legal.insert(legal.begin(), "preset");
  refuse_unknown_keys(map, path, legal);
  const ConfigNode* preset = map.given("preset");
  ConfigNode own = map;
  std::erase_if(own.children, [](const ConfigNode& child) {
    return child.key == "preset" || child.kind == ConfigNode::Kind::null;
  });
  // A preset from which no number is taken is a label: a resolved configuration loads wherever it
  // lies.
  if (preset != nullptr && own.children.size() < all_keys) {
    read_section(read_preset(kind, *preset, path, reading_), "", value, reading_);
  }
  if constexpr (requires { value.preset; }) {
    if (preset != nullptr) {
      value.preset = scalar_text(*preset);
    }
  }
  read_section(own, path, value, reading_, preset != nullptr);
  if (preset != nullptr) {
    rename_modified(value, own);
  }
}

/// Writes a struct as YAML, every key with its value.
class Writer {
 public:
  template <class T, class Form>
  void field(const Key& key, T& value, const Form& form) {
    line(key.name, form.print(value));
  }
  template <class T>
  void section(const Key& key, T& value) {
    if (key.refused_because != nullptr) {
      return;
    }
    line(key.name, "");
    indent_ += 2;
    describe(*this, value);
    indent_ -= 2;
  }
  template <class T>
  void section(const Key& key, std::optional<T>& value) {
    if (value) {
      section(key, *value);
    } else {
      line(key.name, none_text);
    }
  }
  template <class T>
  void sections(const Key& key, std::vector<T>& values) {
    line(key.name, values.empty() ? "[]" : "");
    for (T& value : values) {
      const std::string before = std::exchange(text_, "");
      indent_ += 4;
      describe(*this, value);
      indent_ -= 4;
      text_[static_cast<std::size_t>(indent_) + 2] = '-';  // of the item's first line
      text_ = before + text_;
    }
  }
  template <class T>
  void preset_section(const Key& key, T& value, PresetKind) {
    if (key.refused_because != nullptr) {
      return;
    }
    line(key.name, "");
    indent_ += 2;
    if constexpr (requires { value.preset; }) {
      line("preset", Text{}.print(value.preset));
    }
    describe(*this, value);
    indent_ -= 2;
  }
  template <class T>
  void preset_section(const Key& key, std::optional<T>& value, PresetKind kind) {
    if (value) {
      preset_section(key, *value, kind);
    } else {
      line(key.name, none_text);
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void line(const char* key, const std::string& value) {
    text_ += fmt::format("{:{}}{}:{}{}\n", "", indent_, key, value.empty() ? "" : " ", value);
  }
  std::string text_;
  int indent_ = 0;
};

/// Writes a row of a Markdown table for every key of a struct.
class Documenter {
 public:
  template <class T, class Form>
  void field(const Key& key, T& value, const Form& form) {
    row(key, form.legal(value), form.print(value));
  }
  template <class T>
  void section(const Key& key, T& value) {
    describe_inside(key, value);
  }
  template <class T>
  void section(const Key& key, std::optional<T>&) {
    T value{};
    describe_inside(key, value);
  }
  template <class T>
  void sections(const Key& key, std::vector<T>&) {
    row(key, "a list in brackets, each item a map of the keys below", "[]");
    const std::string outer = std::exchange(path_, joined_path(path_, key.name) + "[]");
    T item{};
    describe(*this, item);
    path_ = outer;
  }
  template <class T>
  void preset_section(const Key& key, T& value, PresetKind kind) {
    row(key, fmt::format("a preset of configs/{}, or a map", name_of(kind)), "");
    const std::string outer = std::exchange(path_, joined_path(path_, key.name));
    row({"preset", "the numbers to start from; the other keys replace single ones"},
        fmt::format("a file's name in configs/{}, without .yaml", name_of(kind)), "");
    path_ = outer;
    describe_inside(key, value);
  }
  /// Its keys have a table of their own.
  template <class T>
  void preset_section(const Key& key, std::optional<T>&, PresetKind kind) {
    row(key, fmt::format("a preset of configs/{}, a file, a map, or {}", name_of(kind), none_text),
        none_text);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  template <class T>
  void describe_inside(const Key& key, T& value) {
    const std::string outer = std::exchange(path_, joined_path(path_, key.name));
    describe(*this, value);
    path_ = outer;
  }
  void row(const Key& key, const std::string& legal, const std::string& initial) {
    const bool required = key.presence == Presence::required;
    text_ += fmt::format("| `{}` | {} | {} | {} |\n", joined_path(path_, key.name), legal,
                         required ? "required" : initial, key.meaning);
  }
  std::string text_;
  std::string path_;
};

}  // namespace qfs::config
