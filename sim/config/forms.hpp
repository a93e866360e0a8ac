// The kinds of value that a key can take. A form reads a value from the tree (ValueError if it
// cannot), prints it so that reading gives the same value back, and says in words what is legal.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "sim/config/quantity.hpp"
#include "sim/config/tree.hpp"

namespace qfs::config {

/// The text of a single value; ValueError for a list, a map or nothing.
const std::string& scalar_text(const ConfigNode& node);

/// A whole number in [least, most].
struct Count {
  std::uint64_t least = 0;
  std::uint64_t most = 0;

  void read(const ConfigNode& node, std::size_t& value) const;
  template <class Tag>
  void read(const ConfigNode& node, Index<Tag>& value) const {
    std::size_t number = 0;
    read(node, number);
    value = Index<Tag>(number);
  }
  [[nodiscard]] std::string print(std::size_t value) const { return format_count(value); }
  template <class Tag>
  [[nodiscard]] std::string print(Index<Tag> value) const {
    return format_count(value.value());
  }
  template <class T>
  [[nodiscard]] std::string legal(const T&) const {
    return legal();
  }
  [[nodiscard]] std::string legal() const;
};

/// Any unsigned number of 64 bits, in digits.
struct Seed {
  void read(const ConfigNode& node, std::uint64_t& value) const;
  [[nodiscard]] std::string print(std::uint64_t value) const { return fmt::format("{}", value); }
  [[nodiscard]] std::string legal(std::uint64_t) const;
};

/// A quantity with its unit.
struct Measure {
  enum class Zero { refused, legal };
  enum class Infinite { refused, legal };
  Zero zero = Zero::refused;
  Infinite infinite = Infinite::refused;
  double most = std::numeric_limits<double>::infinity();

  template <class Unit>
  void read(const ConfigNode& node, Quantity<Unit, double>& value) const {
    using Q = Quantity<Unit, double>;
    value = Q(read(node, dimension_of<Q>));
  }
  template <class Unit>
  [[nodiscard]] std::string print(Quantity<Unit, double> value) const {
    return format_quantity(value.value(), dimension_of<Quantity<Unit, double>>);
  }
  template <class Unit>
  [[nodiscard]] std::string legal(Quantity<Unit, double>) const {
    return legal(dimension_of<Quantity<Unit, double>>);
  }

 private:
  [[nodiscard]] double read(const ConfigNode& node, Dimension dimension) const;
  [[nodiscard]] std::string legal(Dimension dimension) const;
};

/// A quantity with its unit, or the word that stands for none.
struct MaybeMeasure {
  const char* none;
  Measure measure = {};

  template <class Q>
  void read(const ConfigNode& node, std::optional<Q>& value) const {
    if (scalar_text(node) == none) {
      value.reset();
      return;
    }
    Q given{};
    measure.read(node, given);
    value = given;
  }
  template <class Q>
  [[nodiscard]] std::string print(const std::optional<Q>& value) const {
    return value ? measure.print(*value) : none;
  }
  template <class Q>
  [[nodiscard]] std::string legal(const std::optional<Q>&) const {
    return fmt::format("{}; or {}", measure.legal(Q{}), none);
  }
};

/// A size of at least one byte, or `unlimited`.
struct Size {
  void read(const ConfigNode& node, std::optional<Bytes>& value) const;
  [[nodiscard]] std::string print(const std::optional<Bytes>& value) const;
  [[nodiscard]] std::string legal(const std::optional<Bytes>&) const;
};

/// A size in whole bytes of a range.
struct SizeWithin {
  std::int64_t least = 1;
  std::int64_t most = 1;
  void read(const ConfigNode& node, Bytes& value) const;
  [[nodiscard]] std::string print(Bytes value) const { return format_size(value); }
  [[nodiscard]] std::string legal(Bytes) const;
};

/// A plain number above (or, if so said, at) 0, or from 1 on.
struct Number {
  enum class From { above_0, at_0, at_1 };
  From from = From::above_0;
  void read(const ConfigNode& node, double& value) const;
  [[nodiscard]] std::string print(double value) const { return format_number(value); }
  [[nodiscard]] std::string legal(double) const;
};

/// A plain number from 0 on, or `unknown`.
struct MaybeNumber {
  void read(const ConfigNode& node, std::optional<double>& value) const;
  [[nodiscard]] std::string print(const std::optional<double>& value) const;
  [[nodiscard]] std::string legal(const std::optional<double>&) const;
};

/// A plain number of a range.
struct Within {
  double least = 0;
  double most = 0;
  void read(const ConfigNode& node, double& value) const;
  [[nodiscard]] std::string print(double value) const { return format_number(value); }
  [[nodiscard]] std::string legal(double) const;
};

/// A number from 0 to 1, which may itself be out of reach.
struct Probability {
  bool certain = true;  // 1 is legal
  void read(const ConfigNode& node, double& value) const;
  [[nodiscard]] std::string print(double value) const { return format_number(value); }
  [[nodiscard]] std::string legal(double) const;
};

struct Flag {
  void read(const ConfigNode& node, bool& value) const;
  [[nodiscard]] std::string print(bool value) const { return value ? "true" : "false"; }
  [[nodiscard]] std::string legal(bool) const { return "true, false"; }
};

/// A name that can be a folder's on any system.
struct Name {
  void read(const ConfigNode& node, std::string& value) const;
  [[nodiscard]] std::string print(const std::string& value) const;
  [[nodiscard]] std::string legal(const std::string&) const;
};

/// Any one-line text.
struct Text {
  void read(const ConfigNode& node, std::string& value) const;
  [[nodiscard]] std::string print(const std::string& value) const;
  [[nodiscard]] std::string legal(const std::string&) const { return "a text of one line"; }
};

/// The path of a file, or `none`. What was read from it stands in other keys: it is not printed.
struct TraceFile {
  void read(const ConfigNode& node, std::string& value) const;
  [[nodiscard]] static std::string print(const std::string&) { return "none"; }
  [[nodiscard]] static std::string legal(const std::string&) { return "a CSV file; or none"; }
};

/// One of the names of an enumeration.
struct Choice {
  template <class Enum>
  void read(const ConfigNode& node, Enum& value) const {
    const std::optional<Enum> named = value_named<Enum>(scalar_text(node));
    if (!named) {
      throw ValueError(described(node), nearest_spelling(node.text, names(value)));
    }
    value = *named;
  }
  template <class Enum>
  [[nodiscard]] std::string print(Enum value) const {
    return std::string(name_of(value));
  }
  template <class Enum>
  [[nodiscard]] std::string legal(Enum value) const {
    return joined(names(value));
  }

 private:
  template <class Enum>
  static std::vector<std::string> names(Enum) {
    std::vector<std::string> all;
    for (const auto& [value, name] : enum_names<Enum>) {
      all.emplace_back(name);
    }
    return all;
  }
};

/// A list, possibly empty, of items of one form.
template <class Form>
struct ListOf {
  Form item;

  template <class T>
  void read(const ConfigNode& node, std::vector<T>& values) const {
    if (node.kind != ConfigNode::Kind::list) {
      throw ValueError(described(node));
    }
    values.clear();
    values.reserve(node.children.size());
    for (const ConfigNode& child : node.children) {
      values.push_back(read_item<T>(child));
    }
  }
  template <class T>
  [[nodiscard]] std::string print(const std::vector<T>& values) const {
    std::vector<std::string> items;
    items.reserve(values.size());
    for (const T& value : values) {
      items.push_back(item.print(value));
    }
    return fmt::format("[{}]", joined(items));
  }
  template <class T>
  [[nodiscard]] std::string legal(const std::vector<T>&) const {
    return fmt::format("a list in brackets, each item: {}", item.legal(T{}));
  }

 private:
  template <class T>
  T read_item(const ConfigNode& node) const {
    T value{};
    try {
      item.read(node, value);
    } catch (ValueError& error) {
      error.where = node.where;
      throw;
    }
    return value;
  }
};

}  // namespace qfs::config
