#include "sim/report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace qfs {

TextTable::TextTable(std::string alignment, std::vector<std::string> head)
    : alignment_(std::move(alignment)) {
  assert(alignment_.size() == head.size());
  lines_.push_back(std::move(head));
}

void TextTable::add(std::vector<std::string> cells) {
  assert(cells.size() == lines_.front().size());
  lines_.push_back(std::move(cells));
}

void TextTable::gap() { lines_.emplace_back(); }

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
  for (const std::vector<std::string>& line : lines_) {
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
      out += alignment_[i] == 'l' ? fmt::format("  {:<{}}", line[i], width[i])
                                  : fmt::format("  {:>{}}", line[i], width[i]);
    }
    out.resize(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  }
  return text;
}

}  // namespace qfs
