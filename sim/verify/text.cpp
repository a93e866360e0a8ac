#include "sim/report/text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/report/text_table.hpp"
#include "sim/verify/verify.hpp"

namespace qfs::verify {
namespace {

std::string number(double value, int decimals) {
  return decimals == scientific ? fmt::format("{:.2e}", value) : grouped(value, decimals);
}

std::string stated_text(const Figure& figure) {
  std::string value = number(figure.stated, figure.decimals);
  switch (figure.rule) {
    case Rule::within:
      break;
    case Rule::at_most:
      return "<= " + value;
    case Rule::at_least:
      return ">= " + value;
    case Rule::factor:
      return "~ " + value;
  }
  return value;
}

void add_cells(const Column& column, const Figure* figure, std::vector<std::string>& cells) {
  cells.push_back(figure ? stated_text(*figure) : "");
  cells.push_back(figure ? number(figure->computed, figure->decimals) : "");
  if (!column.counted.empty()) {
    const bool counted = figure && figure->counted;
    cells.push_back(counted ? number(*figure->counted, figure->decimals) : "");
  }
}

std::string table_text(const Table& table) {
  std::vector<std::string> head{table.title};
  for (const Column& column : table.columns) {
    head.insert(head.end(), {column.stated, column.computed});
    if (!column.counted.empty()) {
      head.push_back(column.counted);
    }
  }
  head.emplace_back("verdict");
  TextTable text("l" + std::string(head.size() - 2, 'r') + "l", head);
  for (const Row& row : table.rows) {
    std::vector<std::string> cells{row.name};
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      add_cells(table.columns[i], i < row.figures.size() ? &row.figures[i] : nullptr, cells);
    }
    cells.emplace_back(row.agrees() ? "agrees" : "DIFFERS");
    text.add(cells, row.agrees() ? ' ' : '!');
  }
  return text.text();
}

// Total variation.

std::string distance_text(double distance) {
  constexpr double small = 1e-4;
  return distance != 0 && distance < small ? fmt::format("{:.0e}", distance)
                                           : fmt::format("{:.4f}", distance);
}

bool same_line(const SoftmaxUnit& a, const SoftmaxUnit& b) {
  return a.kind == b.kind && a.intervals == b.intervals;
}

/// A unit and K a line; lerp and nearest side by side. Reduced precision stands where lerp does.
std::string distances_text(const std::vector<TotalVariation>& distances) {
  std::vector<std::string> head{"unit", "K"};
  std::vector<const SoftmaxUnit*> lines;
  for (const TotalVariation& first : distances) {
    if (first.unit == distances.front().unit) {
      head.push_back(fmt::format("{}{}", head.size() == 2 ? "lerp " : "", first.span));
    }
    const bool is_lerp = first.unit.reconstruction == Reconstruction::lerp;
    if (is_lerp && (lines.empty() || !same_line(*lines.back(), first.unit))) {
      lines.push_back(&first.unit);
    }
  }
  const std::size_t spans = head.size() - 2;
  for (std::size_t i = 0; i < spans; ++i) {
    head.push_back(i == 0 ? "nearest " + head[2].substr(5) : head[2 + i]);
  }
  TextTable text("lr" + std::string(2 * spans, 'r'), head);
  for (const SoftmaxUnit* unit : lines) {
    const bool grid = has_grid(unit->kind);
    std::vector<std::string> cells{std::string(name_of(unit->kind)),
                                   grid ? fmt::format("{}", unit->intervals) : ""};
    for (const TotalVariation& distance : distances) {
      if (same_line(distance.unit, *unit)) {
        cells.push_back(distance_text(distance.median));
      }
    }
    cells.resize(head.size());
    text.add(cells);
  }
  return text.text();
}

}  // namespace

std::string to_text(const Verification& verification) {
  std::string text;
  for (const Section& section : verification.sections) {
    text += section.title + "\n";
    if (section.name == "softmax_units") {
      text += distances_text(verification.distances);
    }
    for (const Table& table : section.tables) {
      text += table_text(table);
    }
    if (!section.note.empty()) {
      text += paragraph(section.note);
    }
    text += "\n";
  }
  const Count counted = count(verification);
  return text + (counted.disagreeing == 0
                     ? fmt::format("VERIFIED: all {} figures and bounds agree\n", counted.figures)
                     : fmt::format("DIFFERS: {} of {} figures; the first: {}\n",
                                   counted.disagreeing, counted.figures, counted.first));
}

}  // namespace qfs::verify
