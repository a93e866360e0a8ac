#include "sim/report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace qfs {

TextTable::TextTable(std::string alignment, std::vector<std::string> head)
    : alignment_(std::move(alignment)) {
  add(std::move(head));
}

void TextTable::add(std::vector<std::string> cells, char mark) {
  assert(cells.size() == alignment_.size());
  lines_.push_back(std::move(cells));
  marks_.push_back(mark);
}

void TextTable::gap() {
  lines_.emplace_back();
  marks_.push_back(' ');
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths(lines_.front().size());
  for (const std::vector<std::string>& line : lines_) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  return widths;
}

std::string TextTable::text() const {
  const std::vector<std::size_t> width = widths();
  std::string text;
  for (std::size_t number = 0; number < lines_.size(); ++number) {
    const std::vector<std::string>& line = lines_[number];
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
      out += alignment_[i] == 'l' ? fmt::format("  {:<{}}", line[i], width[i])
                                  : fmt::format("  {:>{}}", line[i], width[i]);
    }
    if (!line.empty()) {
      out.front() = marks_[number];
    }
    out.resize(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  }
  return text;
}

}  // namespace qfs
