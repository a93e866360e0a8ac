#include "sim/sweep/sweep_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/config/forms.hpp"
#include "sim/config/section.hpp"
#include "sim/config/tree.hpp"
#include "sim/report/text.hpp"
#include "sim/sweep/sweep_rules.hpp"
#include "sim/sweep/sweep_values.hpp"

namespace qfs {
namespace config {
namespace {

constexpr std::size_t most_requests_of_memory = 65536;

/// Whether one is the other or a section around it.
bool overlap(const std::string& a, const std::string& b) {
  const auto is_within = [](const std::string& key, const std::string& section) {
    return key.starts_with(section + ".");
  };
  return a == b || is_within(a, b) || is_within(b, a);
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

void read_equal(const ConfigNode& root, std::vector<Equal>& equal) {
  read_value(root, "", "equal", equal, ListOf<Choice>{});
  std::vector<Equal> sorted = equal;
  std::sort(sorted.begin(), sorted.end());
  const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (equal.empty() || twice) {
    complain(root.find("equal")->where, "equal", twice ? "the same twice" : "an empty list",
             "one or more of wave, resident, memory");
  }
}

/// However many they are.
double all_points(const SweepConfig& sweep) {
  double all = 0;
  for (const Equal equal : sweep.equal) {
    auto points = static_cast<double>(sweep.variants.size());
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
      points *= static_cast<double>(sweep.values_of(axis, equal));
    }
    all += points;
  }
  return all;
}

void read_points(const ConfigNode& root, SweepConfig& sweep) {
  const char* axes_legal = "a map of keys and their values";
  const char* variants_legal = "a map of names and overrides, at least one";
  const ConfigNode& axes = required(root, "", "axes", axes_legal);
  require_map(axes, "axes", axes_legal);
  for (const ConfigNode& node : axes.children) {
    for (const SweepAxis& before : sweep.axes) {
      if (overlap(before.key, node.key)) {
        complain(node.where, "axes." + node.key, "sets what is another axis too", "each key once");
      }
    }
    sweep.axes.push_back(axis_of(node));
  }
  const ConfigNode& variants = required(root, "", "variants", variants_legal);
  require_map(variants, "variants", variants_legal);
  for (const ConfigNode& node : variants.children) {
    sweep.variants.push_back(variant_of(node, axes));
  }
  if (sweep.variants.empty()) {
    complain(variants.where, "variants", "none given", variants_legal);
  }
  const double points = all_points(sweep);
  if (points > static_cast<double>(most_points)) {
    complain(axes.where, "axes", fmt::format("{} points", grouped(points, 0)),
             fmt::format("at most {} with all variants",
                         grouped(static_cast<std::int64_t>(most_points))));
  }
}

}  // namespace
}  // namespace config

std::size_t SweepConfig::values_of(std::size_t axis, Equal of) const {
  const bool found = of == Equal::memory && axes[axis].key == "workload.batch";
  return found ? 1 : axes[axis].values.size();
}

const std::string& SweepConfig::label(std::size_t axis, std::size_t value, Equal of) const {
  static const std::string none;
  const bool found = of == Equal::memory && axes[axis].key == "workload.batch";
  return found ? none : axes[axis].values[value];
}

std::uint64_t SweepConfig::points() const {
  return static_cast<std::uint64_t>(config::all_points(*this));
}

SweepConfig load_sweep_config(const std::filesystem::path& file) {
  using namespace config;
  const ConfigNode root = read_yaml_map(file);
  refuse_unknown_keys(root, "",
                      {"name", "run", "numerics", "layers", "equal", "most_requests", "axes",
                       "variants", "constraints", "derived", "objectives"});
  SweepConfig sweep;
  sweep.file = file;
  sweep.text = read_text_file(file);
  required(root, "", "name", Name{}.legal(sweep.name));
  read_value(root, "", "name", sweep.name, Name{});
  required(root, "", "run", "a run file, relative to this one");
  std::string run;
  read_value(root, "", "run", run, Text{});
  sweep.run = file.parent_path() / run;
  read_value(root, "", "numerics", sweep.numerics, Choice{});
  read_value(root, "", "layers", sweep.layers, Choice{});
  read_equal(root, sweep.equal);
  read_value(root, "", "most_requests", sweep.most_requests, Count{1, most_requests_of_memory});
  read_points(root, sweep);
  read_rules(root, sweep);
  return sweep;
}

}  // namespace qfs
