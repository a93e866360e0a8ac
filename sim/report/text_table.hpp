// Text in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace qfs {

/// Columns as wide as their widest cell, two spaces apart.
class TextTable {
 public:
  /// One letter per column: l flush left, r flush right.
  TextTable(std::string alignment, std::vector<std::string> head);

  /// As many cells as the head has; a mark stands before the first.
  void add(std::vector<std::string> cells, char mark = ' ');
  /// An empty line.
  void gap();
  /// Every line indented by two spaces, without trailing spaces, ended by a line feed.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::string alignment_;
  std::vector<std::vector<std::string>> lines_;  // the head first; an empty one is a gap
  std::vector<char> marks_;                      // by line
};

}  // namespace qfs
