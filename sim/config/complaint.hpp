// How a mistake in a configuration is told: one line that says where, which key, what was given,
// what is legal and, when one is near, the spelling that was probably meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace qfs::config {

/// A place in the user's input: a line of a file, or an argument of the command line (then line is
/// 0).
struct Where {
  std::string source;
  std::size_t line = 0;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_argument() const { return line == 0 && source.starts_with("--set "); }
};

/// A value that its key does not take. Whoever knows the key turns it into a ConfigError.
class ValueError : public std::runtime_error {
 public:
  explicit ValueError(const std::string& given, std::string nearest_spelling = {})
      : std::runtime_error(given), nearest(std::move(nearest_spelling)) {}
  std::string nearest;         // what was probably meant; empty: nothing is near
  std::string legal;           // what is legal, if more is known than the key says
  std::optional<Where> where;  // more precise than the key's own place, for an item of a list
};

/// Throws ConfigError `where: key: given; legal; did you mean 'nearest'?`; empty parts are left
/// out.
[[noreturn]] void complain(const Where& where, std::string_view key, std::string_view given,
                           std::string_view legal = {}, std::string_view nearest = {});

/// The candidate that `word`, or the beginning of it that `word` stands for, most probably
/// misspells; empty if none is near.
std::string nearest_spelling(std::string_view word, std::span<const std::string> candidates);

/// `'text'`, cut to a length that fits a message, with control characters shown as '?'.
std::string in_quotes(std::string_view text);

std::string joined(std::span<const std::string> words);

}  // namespace qfs::config
