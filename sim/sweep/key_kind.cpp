#include "sim/sweep/key_kind.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "sim/config/schema.hpp"

namespace qfs {
namespace config {
namespace {

template <class T>
struct KindOf {
  static std::optional<NumberKind> get() { return std::nullopt; }
};
template <>
struct KindOf<std::size_t> {
  static std::optional<NumberKind> get() { return NumberKind{NumberKind::Form::whole}; }
};
template <>
struct KindOf<Bytes> {
  static std::optional<NumberKind> get() {
    return NumberKind{NumberKind::Form::size, Dimension::size};
  }
};
template <>
struct KindOf<double> {
  static std::optional<NumberKind> get() { return NumberKind{NumberKind::Form::plain}; }
};
template <class Unit>
struct KindOf<Quantity<Unit, double>> {
  static std::optional<NumberKind> get() {
    return NumberKind{NumberKind::Form::quantity, dimension_of<Quantity<Unit, double>>};
  }
};
template <class T>
struct KindOf<std::optional<T>> : KindOf<T> {};

/// Walks the schema along a key's path.
class KindFinder {
 public:
  explicit KindFinder(std::string_view path) : rest_(path) { next(); }

  template <class T, class Form>
  void field(const Key& key, T&, const Form&) {
    if (own_ == key.name && rest_.empty()) {
      kind = KindOf<T>::get();
    }
  }
  template <class T>
  void section(const Key& key, T& value) {
    if (own_ == key.name && !rest_.empty()) {
      KindFinder inside(rest_);
      describe(inside, value);
      kind = inside.kind;
    }
  }
  template <class T>
  void section(const Key& key, std::optional<T>&) {
    T value{};
    section(key, value);
  }
  template <class T>
  void sections(const Key&, std::vector<T>&) {}
  template <class T>
  void preset_section(const Key& key, T& value, PresetKind) {
    section(key, value);
  }
  template <class T>
  void preset_section(const Key& key, std::optional<T>&, PresetKind) {
    T value{};
    section(key, value);
  }

  std::optional<NumberKind> kind;

 private:
  void next() {
    const std::size_t dot = rest_.find('.');
    own_ = rest_.substr(0, dot);
    rest_ = dot == std::string_view::npos ? std::string_view{} : rest_.substr(dot + 1);
  }
  std::string_view own_;
  std::string_view rest_;
};

/// 1024 -> "1 Ki", 4608 -> "4608"
std::string with_prefix(double number) {
  constexpr double kibi = 1024;
  for (const auto& [factor, prefix] :
       {std::pair{kibi * kibi * kibi, "Gi"}, std::pair{kibi * kibi, "Mi"}, std::pair{kibi, "Ki"}}) {
    if (number >= factor && std::fmod(number, factor) == 0) {
      return fmt::format("{:.0f} {}", number / factor, prefix);
    }
  }
  return fmt::format("{:.0f}", number);
}

}  // namespace
}  // namespace config

double NumberKind::parse(std::string_view text) const {
  switch (form) {
    case Form::whole:
    case Form::size:
    case Form::quantity:
      return config::parse_quantity(text, dimension);
    case Form::plain:
      break;
  }
  return config::parse_number(text);
}

std::string NumberKind::print(double number) const {
  const double rounded = is_whole() ? std::round(number) : std::stod(fmt::format("{:.6g}", number));
  switch (form) {
    case Form::whole:
      return config::with_prefix(rounded);
    case Form::size:
      return config::format_size(Bytes(static_cast<std::int64_t>(rounded)));
    case Form::quantity:
      return config::format_quantity(rounded, dimension);
    case Form::plain:
      break;
  }
  return config::format_number(rounded);
}

std::optional<NumberKind> number_kind_of(std::string_view key) {
  RunConfig defaults;
  config::KindFinder finder(key);
  config::describe(finder, defaults);
  return finder.kind;
}

}  // namespace qfs
