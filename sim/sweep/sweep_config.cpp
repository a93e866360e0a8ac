#include "sim/sweep/sweep_config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/enum_names.hpp"
#include "sim/config/forms.hpp"
#include "sim/config/section.hpp"
#include "sim/config/tree.hpp"

namespace qfs {

template <>
inline constexpr EnumNames<Equal, 3> enum_names<Equal>{{
    {Equal::wave, "wave"},
    {Equal::resident, "resident"},
    {Equal::memory, "memory"},
}};

namespace config {
namespace {

constexpr std::size_t most_points_of_memory = 65536;

const ConfigNode& required(const ConfigNode& map, const char* key, const char* legal) {
  const ConfigNode* node = map.given(key);
  if (node == nullptr) {
    complain(map.where, key, "missing", legal);
  }
  return *node;
}

/// A value as YAML text that means the same after `key=`.
std::string text_of(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::scalar:
      return node.text;
    case ConfigNode::Kind::null:
    case ConfigNode::Kind::nothing:
      return "null";
    case ConfigNode::Kind::list: {
      std::vector<std::string> items;
      for (const ConfigNode& item : node.children) {
        items.push_back(text_of(item));
      }
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    case ConfigNode::Kind::map: {
      std::vector<std::string> items;
      for (const ConfigNode& item : node.children) {
        items.push_back(fmt::format("{}: {}", item.key, text_of(item)));
      }
      return fmt::format("{{{}}}", fmt::join(items, ", "));
    }
  }
  return {};
}

std::vector<SweepAxis> axes_of(const ConfigNode& map) {
  std::vector<SweepAxis> axes;
  for (const ConfigNode& node : map.children) {
    SweepAxis axis{node.key, {}};
    if (node.kind != ConfigNode::Kind::list || node.children.empty()) {
      complain(node.where, "axes." + node.key, described(node), "a list of values");
    }
    for (const ConfigNode& value : node.children) {
      axis.values.push_back(text_of(value));
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<SweepVariant> variants_of(const ConfigNode& map) {
  std::vector<SweepVariant> variants;
  for (const ConfigNode& node : map.children) {
    SweepVariant variant{node.key, {}};
    require_map(node, "variants." + node.key, "a map of the run's keys, as in {block: standard}");
    for (const ConfigNode& value : node.children) {
      variant.overrides.push_back(fmt::format("{}={}", value.key, text_of(value)));
    }
    variants.push_back(std::move(variant));
  }
  return variants;
}

template <class T, class Form>
void read(const ConfigNode& map, const char* key, T& value, const Form& form) {
  const ConfigNode* node = map.given(key);
  if (node == nullptr) {
    return;
  }
  try {
    form.read(*node, value);
  } catch (const ValueError& error) {
    complain(error.where.value_or(node->where), key, error.what(), form.legal(value),
             error.nearest);
  }
}

}  // namespace
}  // namespace config

SweepConfig load_sweep_config(const std::filesystem::path& file) {
  using namespace config;
  const ConfigNode root = read_yaml_map(file);
  refuse_unknown_keys(root, "", {"name", "run", "equal", "most_requests", "axes", "variants"});
  SweepConfig sweep;
  required(root, "name", Name{}.legal(sweep.name).c_str());
  read(root, "name", sweep.name, Name{});
  sweep.run =
      file.parent_path() / scalar_text(required(root, "run", "a run file, relative to this one"));
  read(root, "equal", sweep.equal, ListOf<Choice>{});
  read(root, "most_requests", sweep.most_requests, Count{1, most_points_of_memory});
  const ConfigNode& axes = required(root, "axes", "a map of keys and lists of values");
  require_map(axes, "axes", "a map of keys and lists of values");
  sweep.axes = axes_of(axes);
  const ConfigNode& variants = required(root, "variants", "a map of names and overrides");
  require_map(variants, "variants", "a map of names and overrides");
  sweep.variants = variants_of(variants);
  if (sweep.variants.empty()) {
    complain(variants.where, "variants", "none given", "at least one name with its overrides");
  }
  if (sweep.equal.empty()) {
    complain(root.where, "equal", "an empty list", "wave, resident, memory");
  }
  return sweep;
}

}  // namespace qfs
