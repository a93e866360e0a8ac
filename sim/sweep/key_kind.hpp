// What kind of number a key of a run takes, found in the schema (sim/config/schema.hpp): an axis
// may be a range of numbers only, and its values are as whole as the key is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/config/quantity.hpp"

namespace qfs {

struct NumberKind {
  enum class Form { whole, size, quantity, plain };  // plain: without a unit
  Form form = Form::plain;
  config::Dimension dimension = config::Dimension::count;  // of a quantity

  [[nodiscard]] bool is_whole() const { return form == Form::whole || form == Form::size; }
  /// ValueError unless the text is such a number.
  [[nodiscard]] double parse(std::string_view text) const;
  /// As the key reads it; of a number that is no whole one six digits. `number` >= 0.
  [[nodiscard]] std::string print(double number) const;
};

/// None: there is no such key, or it takes something else.
std::optional<NumberKind> number_kind_of(std::string_view key);

}  // namespace qfs
