#include "sim/config/forms.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace qfs::config {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

constexpr const char* unlimited_text = "unlimited";
constexpr const char* unknown_text = "unknown";

/// The text as a YAML scalar that is read back as the same text.
std::string yaml_text(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), is_plain) &&
                     text.front() != '-' && text.front() != '.';
  constexpr std::array<std::string_view, 4> nothing{"null", "Null", "NULL", "~"};
  if (plain && std::find(nothing.begin(), nothing.end(), text) == nothing.end()) {
    return text;
  }
  std::string escaped;
  for (const char c : text) {
    escaped += c == '\'' ? std::string("''") : std::string(1, c);
  }
  return fmt::format("'{}'", escaped);
}

}  // namespace

const std::string& scalar_text(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::scalar) {
    throw ValueError(described(node));
  }
  return node.text;
}

void Count::read(const ConfigNode& node, std::size_t& value) const {
  const std::uint64_t number = parse_whole(scalar_text(node), Dimension::count);
  if (number < least || number > most) {
    throw ValueError(described(node));
  }
  value = number;
}

std::string Count::legal() const {
  return fmt::format("a whole number from {} to {}", format_count(least), format_count(most));
}

void Seed::read(const ConfigNode& node, std::uint64_t& value) const {
  const std::string& text = scalar_text(node);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    throw ValueError(described(node));
  }
}

std::string Seed::legal(std::uint64_t) const {
  return "a whole number from 0 to 2^64 - 1, in digits";
}

double Measure::read(const ConfigNode& node, Dimension dimension) const {
  const std::string& text = scalar_text(node);
  if (text == unlimited_text && infinite == Infinite::legal) {
    return unlimited;
  }
  const double value = parse_quantity(text, dimension);
  if ((value == 0 && zero == Zero::refused) || value > most) {
    throw ValueError(described(node));
  }
  return value;
}

std::string Measure::legal(Dimension dimension) const {
  std::string text = zero == Zero::legal ? "from 0" : "above 0";
  if (std::isfinite(most)) {
    text += fmt::format(" to {}", format_quantity(most, dimension));
  }
  text += fmt::format(", in {}", joined(unit_names(dimension)));
  return infinite == Infinite::legal ? fmt::format("{}; or {}", text, unlimited_text) : text;
}

void Size::read(const ConfigNode& node, std::optional<Bytes>& value) const {
  const std::string& text = scalar_text(node);
  if (text == unlimited_text) {
    value.reset();
    return;
  }
  const std::uint64_t bytes = parse_whole(text, Dimension::size);
  if (bytes == 0 || bytes > std::numeric_limits<std::int64_t>::max()) {
    throw ValueError(described(node));
  }
  value = Bytes(static_cast<std::int64_t>(bytes));
}

std::string Size::print(const std::optional<Bytes>& value) const {
  return value ? format_size(*value) : unlimited_text;
}

std::string Size::legal(const std::optional<Bytes>&) const {
  return fmt::format("from 1 B to 2^63 - 1 B, in {}; or {}", joined(unit_names(Dimension::size)),
                     unlimited_text);
}

void SizeWithin::read(const ConfigNode& node, Bytes& value) const {
  const std::uint64_t bytes = parse_whole(scalar_text(node), Dimension::size);
  if (bytes < static_cast<std::uint64_t>(least) || bytes > static_cast<std::uint64_t>(most)) {
    throw ValueError(described(node));
  }
  value = Bytes(static_cast<std::int64_t>(bytes));
}

std::string SizeWithin::legal(Bytes) const {
  return fmt::format("from {} to {}", format_size(Bytes(least)), format_size(Bytes(most)));
}

void MaybeNumber::read(const ConfigNode& node, std::optional<double>& value) const {
  value.reset();
  if (scalar_text(node) != unknown_text) {
    Number{Number::From::at_0}.read(node, value.emplace());
  }
}

std::string MaybeNumber::print(const std::optional<double>& value) const {
  return value ? format_number(*value) : unknown_text;
}

std::string MaybeNumber::legal(const std::optional<double>&) const {
  return fmt::format("{}, or {}", Number{Number::From::at_0}.legal(0), unknown_text);
}

void Number::read(const ConfigNode& node, double& value) const {
  const double number = parse_number(scalar_text(node));
  const bool legal = from == From::at_1   ? number >= 1
                     : from == From::at_0 ? number >= 0
                                          : number > 0;
  if (!legal) {
    throw ValueError(described(node));
  }
  value = number;
}

std::string Number::legal(double) const {
  switch (from) {
    case From::above_0:
      return "a number above 0, without a unit";
    case From::at_0:
      return "a number from 0, without a unit";
    case From::at_1:
      return "a number from 1, without a unit";
  }
  return {};
}

void Within::read(const ConfigNode& node, double& value) const {
  const double number = parse_number(scalar_text(node));
  if (number < least || number > most) {
    throw ValueError(described(node));
  }
  value = number;
}

std::string Within::legal(double) const {
  return fmt::format("a number from {} to {}, without a unit", format_number(least),
                     format_number(most));
}

void Probability::read(const ConfigNode& node, double& value) const {
  const double number = parse_number(scalar_text(node));
  if (number < 0 || number > 1 || (number == 1 && !certain)) {
    throw ValueError(described(node));
  }
  value = number;
}

std::string Probability::legal(double) const {
  return certain ? "a number from 0 to 1" : "a number from 0 to below 1";
}

void Flag::read(const ConfigNode& node, bool& value) const {
  const std::string& text = scalar_text(node);
  if (text != "true" && text != "false") {
    throw ValueError(described(node));
  }
  value = text == "true";
}

void Name::read(const ConfigNode& node, std::string& value) const {
  constexpr std::size_t longest = 100;
  const std::string& text = scalar_text(node);
  if (text.empty() || text.size() > longest || text.front() == '.' || text.front() == '-' ||
      !std::all_of(text.begin(), text.end(), is_plain)) {
    throw ValueError(described(node));
  }
  value = text;
}

std::string Name::print(const std::string& value) const { return yaml_text(value); }

std::string Name::legal(const std::string&) const {
  return "a folder's name: 1 to 100 letters, digits, '.', '_', '-', not starting with '.' or '-'";
}

void TraceFile::read(const ConfigNode& node, std::string& value) const {
  Text{}.read(node, value);
  if (value == "none") {
    value.clear();
  }
}

void Text::read(const ConfigNode& node, std::string& value) const {
  const std::string& text = scalar_text(node);
  if (text.empty() || text.find_first_of("\n\r\t") != std::string::npos) {
    throw ValueError(described(node));
  }
  value = text;
}

std::string Text::print(const std::string& value) const { return yaml_text(value); }

}  // namespace qfs::config
