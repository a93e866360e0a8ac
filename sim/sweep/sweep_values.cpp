#include "sim/sweep/sweep_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "sim/config/forms.hpp"
#include "sim/config/section.hpp"
#include "sim/sweep/key_kind.hpp"

namespace qfs::config {
namespace {

/// Keys that change no time of a point.
constexpr std::array<std::string_view, 5> without_effect{"name", "compare", "crossovers",
                                                         "numerics.mode", "workload.contexts"};

enum class Scale { linear, log };

}  // namespace
}  // namespace qfs::config

template <>
inline constexpr qfs::EnumNames<qfs::config::Scale, 2> qfs::enum_names<qfs::config::Scale>{{
    {qfs::config::Scale::linear, "linear"},
    {qfs::config::Scale::log, "log"},
}};

namespace qfs::config {
namespace {

constexpr const char* axis_legal =
    "a list of values, or a range of numbers as in {from: 1 Ki, to: 1 Mi, steps: 11, scale: log}";

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

struct Range {
  double from = 0;
  double to = 0;
  std::size_t steps = 0;
  Scale scale = Scale::linear;

  [[nodiscard]] double at(std::size_t step) const {
    const double share = static_cast<double>(step) / static_cast<double>(steps - 1);
    if (step + 1 == steps) {
      return to;
    }
    return scale == Scale::log ? from * std::pow(to / from, share) : from + (to - from) * share;
  }
};

double number_at(const ConfigNode& range, const std::string& path, const char* key,
                 const NumberKind& kind) {
  const ConfigNode& node = required(range, path, key, "a number, with its unit if it has one");
  try {
    return kind.parse(scalar_text(node));
  } catch (const ValueError& error) {
    complain(node.where, joined_path(path, key), error.what(),
             "a finite number as the key takes it", error.nearest);
  }
}

Range range_of(const ConfigNode& node, const std::string& path, const NumberKind& kind) {
  refuse_unknown_keys(node, path, {"from", "to", "steps", "scale"});
  Range range;
  range.from = number_at(node, path, "from", kind);
  range.to = number_at(node, path, "to", kind);
  const Count steps{2, most_points};
  required(node, path, "steps", steps.legal());
  read_value(node, path, "steps", range.steps, steps);
  read_value(node, path, "scale", range.scale, Choice{});
  if (range.to <= range.from) {
    complain(node.find("to")->where, path + ".to", "is no more than from", "more than from");
  }
  if (range.scale == Scale::log && range.from <= 0) {
    complain(node.find("from")->where, path + ".from",
             in_quotes(scalar_text(*node.find("from"))) + " with scale log", "more than 0");
  }
  return range;
}

SweepAxis axis_of_range(const ConfigNode& node, const std::string& path) {
  const std::optional<NumberKind> kind = number_kind_of(node.key);
  if (!kind) {
    complain(node.where, path, "a range, but the key takes no number", "a list of values");
  }
  const Range range = range_of(node, path, *kind);
  SweepAxis axis{node.key, {}, node.where.text(), true};
  for (std::size_t step = 0; step < range.steps; ++step) {
    std::string text = kind->print(range.at(step));
    if (axis.values.empty() || axis.values.back() != text) {
      axis.values.push_back(std::move(text));
    }
  }
  return axis;
}

}  // namespace

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

SweepAxis axis_of(const ConfigNode& node) {
  const std::string path = "axes." + node.key;
  refuse_without_effect(node, path);
  if (node.kind == ConfigNode::Kind::map) {
    return axis_of_range(node, path);
  }
  if (node.kind != ConfigNode::Kind::list || node.children.empty()) {
    complain(node.where, path,
             node.kind == ConfigNode::Kind::list ? "an empty list" : described(node), axis_legal);
  }
  SweepAxis axis{node.key, {}, node.where.text(), false};
  std::unordered_set<std::string> before;
  for (const ConfigNode& value : node.children) {
    std::string text = text_of(value);
    if (!before.insert(text).second) {
      complain(value.where, path, in_quotes(text) + " twice", "each value once");
    }
    axis.values.push_back(std::move(text));
  }
  return axis;
}

const ConfigNode& required(const ConfigNode& map, const std::string& path, const char* key,
                           const std::string& legal) {
  const ConfigNode* node = map.given(key);
  if (node == nullptr) {
    complain(map.where, joined_path(path, key), "missing", legal);
  }
  return *node;
}

}  // namespace qfs::config
