// The values of an axis, as a sweep's file gives them.
#pragma once

#include <string>

#include "sim/config/tree.hpp"
#include "sim/sweep/sweep_config.hpp"

namespace qfs::config {

/// A value as YAML text that means the same after `key=`.
std::string text_of(const ConfigNode& node);

/// The axis that a list or a range gives (sweep_config.hpp); ConfigError for a mistake in it.
SweepAxis axis_of(const ConfigNode& node);

/// Refuses keys of a run that change no time of a point.
void refuse_without_effect(const ConfigNode& node, const std::string& path);

/// The node of a key that has to be there.
const ConfigNode& required(const ConfigNode& map, const std::string& path, const char* key,
                           const std::string& legal);

/// Reads a value if it is there; a ValueError becomes a ConfigError.
template <class T, class Form>
void read_value(const ConfigNode& map, const std::string& path, const char* key, T& value,
                const Form& form) {
  const ConfigNode* node = map.given(key);
  if (node == nullptr) {
    return;
  }
  try {
    form.read(*node, value);
  } catch (const ValueError& error) {
    complain(error.where.value_or(node->where), joined_path(path, key), error.what(),
             form.legal(value), error.nearest);
  }
}

}  // namespace qfs::config
