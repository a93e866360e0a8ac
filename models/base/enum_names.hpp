// One table per enumeration: the name used in configurations, tables and messages, in both
// directions.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace qfs {

template <class Enum, std::size_t N>
using EnumNames = std::array<std::pair<Enum, std::string_view>, N>;

/// Specialised beside each enumeration that has names: `template <> inline constexpr EnumNames<E,
/// n> enum_names<E>`.
template <class Enum>
inline constexpr EnumNames<Enum, 0> enum_names{};

template <class Enum>
constexpr std::string_view name_of(Enum value) {
  for (const auto& [entry, name] : enum_names<Enum>) {
    if (entry == value) {
      return name;
    }
  }
  return "?";
}

template <class Enum>
constexpr std::optional<Enum> value_named(std::string_view name) {
  for (const auto& [entry, entry_name] : enum_names<Enum>) {
    if (entry_name == name) {
      return entry;
    }
  }
  return std::nullopt;
}

}  // namespace qfs
