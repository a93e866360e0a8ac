#include "sim/sweep/sweep_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "sim/config/forms.hpp"
#include "sim/config/section.hpp"
#include "sim/config/tree.hpp"

namespace qfs {
namespace config {
namespace {

constexpr std::size_t most_requests_of_memory = 65536;
constexpr std::size_t most_points = 100'000;

/// Keys that change no time of a point.
constexpr std::array<std::string_view, 5> without_effect{"name", "compare", "crossovers",
                                                         "numerics.mode", "workload.contexts"};

const ConfigNode& required(const ConfigNode& map, const char* key, const std::string& legal) {
  const ConfigNode* node = map.given(key);
  if (node == nullptr) {
    complain(map.where, key, "missing", legal);
  }
  return *node;
}

/// A text that means itself as YAML, also within a list in brackets.
bool is_plain(const std::string& text) {
  constexpr std::string_view special = ":#{}[],&*!|>'\"%@`\\";
  return !text.empty() && text.find_first_of(special) == std::string::npos && text != "~" &&
         text != "null" && text != "Null" && text != "NULL" && text.front() != '-' &&
         text.front() != '?';
}

std::string quoted(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '\'' ? "''" : std::string(1, c);
  }
  return fmt::format("'{}'", escaped);
}

/// A value as YAML text that means the same after `key=`.
std::string text_of(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::scalar:
      return is_plain(node.text) ? node.text : quoted(node.text);
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

void refuse_without_effect(const ConfigNode& node, const std::string& path) {
  if (std::find(without_effect.begin(), without_effect.end(), node.key) != without_effect.end()) {
    complain(node.where, path, "changes nothing that a sweep shows", "the other keys of a run");
  }
}

/// Whether one is the other or a section around it.
bool overlap(const std::string& a, const std::string& b) {
  const auto is_within = [](const std::string& key, const std::string& section) {
    return key.starts_with(section + ".");
  };
  return a == b || is_within(a, b) || is_within(b, a);
}

SweepAxis axis_of(const ConfigNode& node) {
  const std::string path = "axes." + node.key;
  refuse_without_effect(node, path);
  if (node.kind != ConfigNode::Kind::list || node.children.empty()) {
    complain(node.where, path,
             node.kind == ConfigNode::Kind::list ? "an empty list" : described(node),
             "a list of values");
  }
  SweepAxis axis{node.key, {}, node.where.text()};
  for (const ConfigNode& value : node.children) {
    std::string text = text_of(value);
    if (std::find(axis.values.begin(), axis.values.end(), text) != axis.values.end()) {
      complain(value.where, path, in_quotes(text) + " twice", "each value once");
    }
    axis.values.push_back(std::move(text));
  }
  return axis;
}

SweepVariant variant_of(const ConfigNode& node, const ConfigNode& axes) {
  SweepVariant variant{node.key, {}, {}};
  const std::string path = "variants." + node.key;
  require_map(node, path, "a map of the run's keys, as in {block: standard}");
  for (const ConfigNode& value : node.children) {
    const std::string value_path = path + "." + value.key;
    refuse_without_effect(value, value_path);
    // A section that the variant does not have at all, such as a link, may be an axis of others.
    const bool removed = value.kind == ConfigNode::Kind::null;
    for (const ConfigNode& axis : axes.children) {
      if (axis.key == value.key || (!removed && overlap(axis.key, value.key))) {
        complain(value.where, value_path, "sets what is one of the axes too",
                 "a key here or there");
      }
    }
    variant.overrides.push_back(fmt::format("{}={}", value.key, text_of(value)));
    variant.where.push_back(value.where.text());
  }
  return variant;
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

void read_equal(const ConfigNode& root, std::vector<Equal>& equal) {
  read(root, "equal", equal, ListOf<Choice>{});
  std::vector<Equal> sorted = equal;
  std::sort(sorted.begin(), sorted.end());
  const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (equal.empty() || twice) {
    complain(root.find("equal")->where, "equal", twice ? "the same twice" : "an empty list",
             "one or more of wave, resident, memory");
  }
}

void read_points(const ConfigNode& root, SweepConfig& sweep) {
  const char* axes_legal = "a map of keys and lists of values";
  const char* variants_legal = "a map of names and overrides, at least one";
  const ConfigNode& axes = required(root, "axes", axes_legal);
  require_map(axes, "axes", axes_legal);
  for (const ConfigNode& node : axes.children) {
    for (const SweepAxis& before : sweep.axes) {
      if (overlap(before.key, node.key)) {
        complain(node.where, "axes." + node.key, "sets what is another axis too", "each key once");
      }
    }
    sweep.axes.push_back(axis_of(node));
  }
  const ConfigNode& variants = required(root, "variants", variants_legal);
  require_map(variants, "variants", variants_legal);
  for (const ConfigNode& node : variants.children) {
    sweep.variants.push_back(variant_of(node, axes));
  }
  if (sweep.variants.empty()) {
    complain(variants.where, "variants", "none given", variants_legal);
  }
  std::size_t points = sweep.equal.size() * sweep.variants.size();
  for (const SweepAxis& axis : sweep.axes) {
    points *= axis.values.size();
    if (points > most_points) {
      complain(axes.where, "axes", "too many points",
               fmt::format("at most {} with all variants", most_points));
    }
  }
}

}  // namespace
}  // namespace config

std::size_t SweepConfig::values_of(std::size_t axis, Equal of) const {
  const bool found = of == Equal::memory && axes[axis].key == "workload.batch";
  return found ? 1 : axes[axis].values.size();
}

std::string SweepConfig::label(std::size_t axis, std::size_t value, Equal of) const {
  const bool found = of == Equal::memory && axes[axis].key == "workload.batch";
  return found ? "" : axes[axis].values[value];
}

SweepConfig load_sweep_config(const std::filesystem::path& file) {
  using namespace config;
  const ConfigNode root = read_yaml_map(file);
  refuse_unknown_keys(root, "",
                      {"name", "run", "numerics", "equal", "most_requests", "axes", "variants"});
  SweepConfig sweep;
  required(root, "name", Name{}.legal(sweep.name));
  read(root, "name", sweep.name, Name{});
  required(root, "run", "a run file, relative to this one");
  std::string run;
  read(root, "run", run, Text{});
  sweep.run = file.parent_path() / run;
  read(root, "numerics", sweep.numerics, Choice{});
  read_equal(root, sweep.equal);
  read(root, "most_requests", sweep.most_requests, Count{1, most_requests_of_memory});
  read_points(root, sweep);
  return sweep;
}

}  // namespace qfs
