#include "sim/sweep/sweep_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string>

#include "sim/config/forms.hpp"
#include "sim/config/section.hpp"
#include "sim/sweep/figures.hpp"
#include "sim/sweep/key_kind.hpp"
#include "sim/sweep/sweep_values.hpp"

namespace qfs::config {
namespace {

constexpr const char* condition_legal =
    "a value of the axis, a list of them, or bounds as in {above: 8, at_most: 64}";

struct Bound {
  const char* name;
  bool (*holds)(double value, double bound);
};
constexpr std::array<Bound, 4> bounds{{
    {"above", [](double value, double bound) { return value > bound; }},
    {"at_least", [](double value, double bound) { return value >= bound; }},
    {"below", [](double value, double bound) { return value < bound; }},
    {"at_most", [](double value, double bound) { return value <= bound; }},
}};

/// What conditions compare with: the values of an axis, or the variants' names.
struct Subject {
  std::vector<std::string> values;
  std::optional<NumberKind> kind = {};
  std::vector<double> numbers = {};  // of the values, if of a kind
};

/// Not a number: the text is none, which is a mistake that shows when the run is made.
double number_in(const NumberKind& kind, const std::string& text) {
  try {
    return kind.parse(text);
  } catch (const ValueError&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

Subject axis_subject(const SweepAxis& axis) {
  Subject subject{axis.values, number_kind_of(axis.key)};
  for (const std::string& value : axis.values) {
    if (subject.kind) {
      subject.numbers.push_back(number_in(*subject.kind, value));
    }
  }
  return subject;
}

double number_of(const Subject& subject, const ConfigNode& node, const std::string& path) {
  try {
    return subject.kind->parse(scalar_text(node));
  } catch (const ValueError& error) {
    complain(node.where, path, error.what(), "a finite number as the axis has them", error.nearest);
  }
}

void mark(const Subject& subject, const ConfigNode& node, const std::string& path,
          std::vector<bool>& holds) {
  const std::string text = text_of(node);
  const double number =
      subject.kind ? number_in(*subject.kind, text) : std::numeric_limits<double>::quiet_NaN();
  bool found = false;
  for (std::size_t i = 0; i < subject.values.size(); ++i) {
    // Equal as texts, or as numbers: 1 Ki is 1024.
    if (subject.values[i] == text || (subject.kind && subject.numbers[i] == number)) {
      holds[i] = true;
      found = true;
    }
  }
  if (!found) {
    complain(node.where, path, in_quotes(text) + " is none of its values", condition_legal,
             nearest_spelling(text, subject.values));
  }
}

void mark_within(const Subject& subject, const ConfigNode& map, const std::string& path,
                 std::vector<bool>& holds) {
  if (!subject.kind) {
    complain(map.where, path, "bounds, but the axis is not one of numbers",
             "one of its values, or a list of them");
  }
  std::vector<std::string> names;
  names.reserve(bounds.size());
  for (const Bound& bound : bounds) {
    names.emplace_back(bound.name);
  }
  refuse_unknown_keys(map, path, names);
  holds.assign(subject.values.size(), !map.children.empty());
  for (const Bound& bound : bounds) {
    const ConfigNode* node = map.given(bound.name);
    if (node == nullptr) {
      continue;
    }
    const double limit = number_of(subject, *node, joined_path(path, bound.name));
    for (std::size_t i = 0; i < holds.size(); ++i) {
      holds[i] = holds[i] && bound.holds(subject.numbers[i], limit);
    }
  }
  if (std::none_of(holds.begin(), holds.end(), [](bool each) { return each; })) {
    complain(map.where, path, "holds for no value of the axis", condition_legal);
  }
}

SweepCondition condition_of(const ConfigNode& node, const SweepConfig& sweep,
                            const std::string& outer) {
  const std::string path = joined_path(outer, node.key);
  std::vector<std::string> keys{"variant"};
  SweepCondition condition;
  Subject subject;
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
    keys.push_back(sweep.axes[axis].key);
    if (node.key == keys.back()) {
      condition.axis = axis;
      subject = axis_subject(sweep.axes[axis]);
    }
  }
  if (std::find(keys.begin(), keys.end(), node.key) == keys.end()) {
    complain(node.where, path, "is no axis", joined(keys), nearest_spelling(node.key, keys));
  }
  for (const SweepVariant& variant : sweep.variants) {
    if (!condition.axis) {
      subject.values.push_back(variant.name);
    }
  }
  condition.holds.assign(subject.values.size(), false);
  if (node.kind == ConfigNode::Kind::map) {
    mark_within(subject, node, path, condition.holds);
  } else if (node.kind == ConfigNode::Kind::list) {
    for (const ConfigNode& value : node.children) {
      mark(subject, value, path, condition.holds);
    }
  } else {
    mark(subject, node, path, condition.holds);
  }
  return condition;
}

SweepConstraint constraint_of(const ConfigNode& node, const SweepConfig& sweep) {
  const std::string path = "constraints";
  require_map(node, path, "a map of skip and because");
  refuse_unknown_keys(node, path, {"skip", "because"});
  const char* skip_legal = "a map of axes, or variant, and conditions; at least one";
  const ConfigNode& skip = required(node, path, "skip", skip_legal);
  require_map(skip, joined_path(path, "skip"), skip_legal);
  if (skip.children.empty()) {
    complain(skip.where, joined_path(path, "skip"), "an empty map", skip_legal);
  }
  SweepConstraint constraint;
  for (const ConfigNode& each : skip.children) {
    constraint.conditions.push_back(condition_of(each, sweep, joined_path(path, "skip")));
  }
  required(node, path, "because", Text{}.legal(constraint.because));
  read_value(node, path, "because", constraint.because, Text{});
  return constraint;
}

const Figure& figure_of(const ConfigNode& node, const std::string& path) {
  const std::vector<std::string> names = figure_names();
  const std::string name = node.kind == ConfigNode::Kind::scalar ? node.text : "";
  const Figure* figure = figure_named(name);
  if (figure == nullptr) {
    complain(node.where, path, described(node), joined(names), nearest_spelling(name, names));
  }
  return *figure;
}

std::size_t baseline_of(const ConfigNode& node, const SweepConfig& sweep, const std::string& path) {
  std::vector<std::string> names;
  for (const SweepVariant& variant : sweep.variants) {
    if (node.kind == ConfigNode::Kind::scalar && variant.name == node.text) {
      return names.size();
    }
    names.push_back(variant.name);
  }
  complain(node.where, path, described(node) + " is no variant", joined(names),
           nearest_spelling(node.text, names));
}

DerivedColumn derived_of(const ConfigNode& node, const SweepConfig& sweep) {
  const std::string path = joined_path("derived", node.key);
  const char* legal = "a map as in {speed_up: tpot_us, baseline: standard}";
  require_map(node, path, legal);
  refuse_unknown_keys(node, path, {"speed_up", "ratio", "baseline"});
  DerivedColumn column;
  column.name = node.key;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  if (figure_named(node.key) != nullptr ||
      !std::all_of(node.key.begin(), node.key.end(), is_word)) {
    complain(node.where, path, "cannot be a column's name",
             "letters, digits and _, and no column that is there already");
  }
  const ConfigNode* speed_up = node.given("speed_up");
  const ConfigNode* ratio = node.given("ratio");
  if ((speed_up == nullptr) == (ratio == nullptr)) {
    complain(node.where, path, speed_up == nullptr ? "neither speed_up nor ratio" : "both", legal);
  }
  column.comparison = speed_up != nullptr ? Comparison::speed_up : Comparison::ratio;
  const ConfigNode& figure = speed_up != nullptr ? *speed_up : *ratio;
  column.figure = &figure_of(figure, joined_path(path, figure.key));
  const ConfigNode& baseline = required(node, path, "baseline", "a variant");
  column.baseline = baseline_of(baseline, sweep, joined_path(path, "baseline"));
  return column;
}

SweepObjective objective_of(const ConfigNode& node, const SweepConfig& sweep) {
  const char* legal = "a map as in {minimise: tpot_us}";
  require_map(node, "objectives", legal);
  refuse_unknown_keys(node, "objectives", {"minimise", "maximise"});
  if (node.children.size() != 1) {
    complain(node.where, "objectives", fmt::format("{} keys", node.children.size()), legal);
  }
  const ConfigNode& sought = node.children.front();
  SweepObjective objective;
  objective.name = sought.text;
  objective.maximise = sought.key == "maximise";
  for (std::size_t i = 0; i < sweep.derived.size(); ++i) {
    if (sweep.derived[i].name == sought.text) {
      objective.derived = i;
      return objective;
    }
  }
  objective.figure = &figure_of(sought, joined_path("objectives", sought.key));
  return objective;
}

const std::vector<ConfigNode>& list_at(const ConfigNode& root, const char* key) {
  static const std::vector<ConfigNode> none;
  const ConfigNode* node = root.given(key);
  if (node == nullptr) {
    return none;
  }
  if (node->kind != ConfigNode::Kind::list) {
    complain(node->where, key, described(*node), "a list of maps");
  }
  return node->children;
}

}  // namespace

void read_rules(const ConfigNode& root, SweepConfig& sweep) {
  for (const ConfigNode& node : list_at(root, "constraints")) {
    sweep.constraints.push_back(constraint_of(node, sweep));
  }
  if (const ConfigNode* derived = root.given("derived")) {
    require_map(*derived, "derived", "a map of names and what is compared");
    for (const ConfigNode& node : derived->children) {
      sweep.derived.push_back(derived_of(node, sweep));
    }
  }
  for (const ConfigNode& node : list_at(root, "objectives")) {
    sweep.objectives.push_back(objective_of(node, sweep));
  }
}

}  // namespace qfs::config
