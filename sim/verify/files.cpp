#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/verify/verify.hpp"

namespace qfs::verify {
namespace {

using Json = nlohmann::ordered_json;

Json figure_json(const std::string& quantity, const Figure& figure) {
  return {{"quantity", quantity},
          {"stated", figure.stated},
          {"rule", name_of(figure.rule)},
          {"slack", figure.slack},
          {"computed", figure.computed},
          {"counted", figure.counted ? Json(*figure.counted) : Json(nullptr)},
          {"agrees", figure.agrees()}};
}

Json table_json(const Table& table) {
  Json rows = Json::array();
  for (const Row& row : table.rows) {
    Json figures = Json::array();
    for (std::size_t i = 0; i < row.figures.size(); ++i) {
      figures.push_back(figure_json(table.columns[i].quantity, row.figures[i]));
    }
    rows.push_back({{"row", row.name}, {"agrees", row.agrees()}, {"figures", figures}});
  }
  return {{"table", table.title}, {"rows", rows}};
}

std::string verify_json(const Verification& verification) {
  Json sections = Json::array();
  for (const Section& section : verification.sections) {
    Json tables = Json::array();
    for (const Table& table : section.tables) {
      tables.push_back(table_json(table));
    }
    sections.push_back({{"section", section.name},
                        {"title", section.title},
                        {"note", section.note},
                        {"tables", tables}});
  }
  const Count counted = count(verification);
  return Json{{"tool", "qfsim"},
              {"format", 1},
              {"figures", counted.figures},
              {"disagreeing", counted.disagreeing},
              {"sections", sections}}
             .dump(2) +
         "\n";
}

/// Reconstruction and intervals are empty for units without a grid.
std::string total_variation_csv(const Verification& verification) {
  fmt::memory_buffer out;
  out.append(
      std::string_view("unit,reconstruction,intervals,span_nats,keys,rows,total_variation_least,"
                       "total_variation_median,total_variation_greatest\n"));
  for (const TotalVariation& point : verification.distances) {
    const SoftmaxUnit& unit = point.unit;
    const std::string grid =
        has_grid(unit.kind) ? fmt::format("{},{}", name_of(unit.reconstruction), unit.intervals)
                            : ",";
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{}\n", name_of(unit.kind), grid,
                   point.span, point.keys, point.rows, point.least, point.median, point.greatest);
  }
  return fmt::to_string(out);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> to_files(const Verification& verification) {
  return {{"total_variation.csv", total_variation_csv(verification)},
          {"verify.json", verify_json(verification)}};
}

}  // namespace qfs::verify
