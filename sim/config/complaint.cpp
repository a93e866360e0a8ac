#include "sim/config/complaint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

#include "base/error.hpp"

namespace qfs::config {
namespace {

// Costs of edits: a slip of the shift key or of a separator is a quarter of a wrong letter.
constexpr std::size_t edit_cost = 4;
constexpr std::size_t slip_cost = 1;

char folded(char c) {
  return c == '-' || c == ' ' ? '_'
                              : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::size_t replace_cost(char a, char b) {
  if (a == b) {
    return 0;
  }
  return folded(a) == folded(b) ? slip_cost : edit_cost;
}

/// Edit distances of `a` to every beginning of `b`, with exchanged neighbours (optimal string
/// alignment); the last one is that to the whole of `b`.
std::vector<std::size_t> distances(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> cost((a.size() + 1) * width);
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& best = cost[i * width + j];
      best = i == 0 ? j * edit_cost : cost[(i - 1) * width + j] + edit_cost;
      if (j > 0) {
        best = std::min(best, cost[i * width + j - 1] + edit_cost);
      }
      if (i > 0 && j > 0) {
        best = std::min(best, cost[(i - 1) * width + j - 1] + replace_cost(a[i - 1], b[j - 1]));
      }
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, cost[(i - 2) * width + j - 2] + edit_cost);
      }
    }
  }
  return {cost.end() - static_cast<std::ptrdiff_t>(width), cost.end()};
}

/// The first candidate that begins like `word` with one letter wrong.
std::string nearest_beginning(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t shortest_word = 4;  // below, almost anything is near
  const auto begins_so = [word](const std::string& candidate) {
    const std::vector<std::size_t> costs = distances(word, candidate);
    return *std::min_element(costs.begin(), costs.end()) <= edit_cost;
  };
  const auto found = std::find_if(candidates.begin(), candidates.end(), begins_so);
  return word.size() >= shortest_word && found != candidates.end() ? *found : std::string();
}

}  // namespace

std::string Where::text() const { return line == 0 ? source : fmt::format("{}:{}", source, line); }

void complain(const Where& where, std::string_view key, std::string_view given,
              std::string_view legal, std::string_view nearest) {
  std::string message = where.text();
  if (!key.empty()) {
    message += fmt::format(": {}", key);
  }
  message += fmt::format(": {}", given);
  if (!legal.empty()) {
    message += fmt::format("; legal: {}", legal);
  }
  if (!nearest.empty()) {
    message += fmt::format("; did you mean '{}'?", nearest);
  }
  std::replace_if(
      message.begin(), message.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  throw ConfigError(message);
}

std::string nearest_spelling(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t longest_word = 64;  // nobody misspells a name at such length
  if (word.size() > longest_word) {
    return {};
  }
  std::string best;
  std::size_t best_cost = edit_cost * std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const bool cut_short = word.size() >= 2 && candidate.starts_with(word);
    const std::size_t cost = cut_short ? edit_cost - 1 : distances(word, candidate).back();
    if (cost < best_cost) {
      best_cost = cost;
      best = candidate;
    }
  }
  return best.empty() ? nearest_beginning(word, candidates) : best;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string shown(text.substr(0, longest));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c >= 0 && c < ' '; }, '?');
  return fmt::format("'{}{}'", shown, text.size() > longest ? "..." : "");
}

std::string joined(std::span<const std::string> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace qfs::config
