// Text in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace qfs {

/// Columns as wide as their widest cell, two spaces apart; the first `left` columns flush left, the others right.
class TextTable {
 public:
  TextTable(std::vector<std::string> head, std::size_t left);

  /// As many cells as the head has.
  void add(std::vector<std::string> cells);
  /// An empty line.
  void gap();
  /// Every line indented by two spaces, without trailing spaces, ended by a line feed.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::vector<std::vector<std::string>> lines_;  // the head first; an empty one is a gap
  std::size_t left_;
};

}  // namespace qfs
