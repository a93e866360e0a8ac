#include "sim/sweep/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/sweep/objectives.hpp"

namespace qfs {
namespace {

/// The variants at one point of the axes.
using Variants = std::span<const SweepPoint>;

bool ran(const SweepPoint& point) { return point.ran(); }

/// Larger is better.
double merit(const SweepPoint& point) {
  if (!ran(point)) {
    return 0;
  }
  return point.equal == Equal::wave ? 1 / point.figures.tpot_us : point.figures.tokens_per_s;
}

std::string best_of(const SweepConfig& config, Variants variants) {
  const auto best =
      std::max_element(variants.begin(), variants.end(),
                       [](const auto& a, const auto& b) { return merit(a) < merit(b); });
  const std::string& name = config.variants[best->variant].name;
  if (!ran(*best)) {
    return "-";
  }
  return ran(variants.front()) ? fmt::format("{} {:.2f}", name, merit(*best) / merit(variants[0]))
                               : name;
}

const char* heading(Equal equal) {
  switch (equal) {
    case Equal::wave:
      return "equal wave: least TPOT";
    case Equal::resident:
      return "equal resident requests: most tokens/s";
    case Equal::memory:
      return "largest batch that fits: most tokens/s";
  }
  return "";
}

class MapPrinter {
 public:
  explicit MapPrinter(const SweepResult& result)
      : result_(result), config_(result.config), variants_(config_.variants.size()) {}

  [[nodiscard]] std::string text() const {
    std::string text = fmt::format("{}: the best variant, and its gain over {}\n", config_.name,
                                   config_.variants[0].name);
    std::size_t at = 0;
    while (at < result_.points.size()) {
      const Equal equal = result_.points[at].equal;
      text += map_at(at);
      at += rows(equal) * columns(equal) * variants_;
    }
    return text;
  }

 private:
  [[nodiscard]] std::size_t axes() const { return config_.axes.size(); }
  [[nodiscard]] std::size_t columns(Equal equal) const {
    return axes() > 0 ? config_.values_of(axes() - 1, equal) : 1;
  }
  [[nodiscard]] std::size_t rows(Equal equal) const {
    return axes() > 1 ? config_.values_of(axes() - 2, equal) : 1;
  }

  [[nodiscard]] std::string map_at(std::size_t at) const {
    const SweepPoint& first = result_.points[at];
    const Equal equal = first.equal;
    std::string title = heading(equal);
    for (std::size_t axis = 0; axis + 2 < axes(); ++axis) {
      const std::string value = config_.label(axis, first.values[axis], equal);
      title += value.empty() ? "" : fmt::format(", {} {}", config_.axes[axis].key, value);
    }
    std::vector<std::string> head{axes() > 1 ? config_.axes[axes() - 2].key : ""};
    for (std::size_t column = 0; column < columns(equal); ++column) {
      head.push_back(axes() > 0 ? config_.label(axes() - 1, column, equal) : "");
    }
    if (axes() > 0) {
      title += fmt::format("; columns: {}", config_.axes[axes() - 1].key);
    }
    TextTable table(std::string(head.size(), 'l'), head);
    for (std::size_t row = 0; row < rows(equal); ++row) {
      table.add(cells(at + row * columns(equal) * variants_, columns(equal),
                      axes() > 1 ? config_.label(axes() - 2, row, equal) : ""));
    }
    return fmt::format("\n{}\n{}", title, table.text());
  }

  [[nodiscard]] std::vector<std::string> cells(std::size_t at, std::size_t columns,
                                               std::string name) const {
    std::vector<std::string> cells{std::move(name)};
    for (std::size_t column = 0; column < columns; ++column) {
      cells.push_back(
          best_of(config_, Variants(result_.points).subspan(at + column * variants_, variants_)));
    }
    return cells;
  }

  const SweepResult& result_;
  const SweepConfig& config_;
  std::size_t variants_;
};

/// The point in words: its values and variant.
std::string place_of(const SweepConfig& config, const SweepPoint& point) {
  std::string text = config.variants[point.variant].name;
  for (std::size_t axis = 0; axis < point.values.size(); ++axis) {
    const std::string& label = config.label(axis, point.values[axis], point.equal);
    text += label.empty() ? "" : fmt::format(", {} {}", config.axes[axis].key, label);
  }
  return config.equal.size() > 1 ? fmt::format("{} (equal {})", text, name_of(point.equal)) : text;
}

std::string objectives_text(const SweepResult& result) {
  std::string text;
  const DerivedFigures figures(result);
  for (const SweepObjective& objective : result.config.objectives) {
    const std::optional<std::size_t> best = best_point(result, objective);
    const std::string found = best ? fmt::format("{:.6g} at {}", figures.of(objective, *best),
                                                 place_of(result.config, result.points[*best]))
                                   : "no point has it";
    text += paragraph(
        fmt::format("{} {}: {}", objective.maximise ? "most" : "least", objective.name, found));
  }
  return text.empty() ? "" : "\nThe objectives\n" + text;
}

/// How many points have no figures, by why, and the variants of which none has any.
std::string gaps_text(const SweepResult& result) {
  constexpr std::array<std::pair<PointStatus, const char*>, 3> gaps{{
      {PointStatus::skipped, "were skipped by constraints"},
      {PointStatus::refused, "cannot be"},
      {PointStatus::failed, "failed"},
  }};
  const auto all = static_cast<std::int64_t>(result.points.size());
  std::string text;
  for (const auto& [status, what] : gaps) {
    const auto count =
        std::count_if(result.points.begin(), result.points.end(),
                      [status = status](const SweepPoint& p) { return p.status == status; });
    if (count > 0) {
      text += fmt::format("\n{} of {} points {}; results.csv says why of each.\n", grouped(count),
                          grouped(all), what);
    }
  }
  if (text.empty()) {
    return text;
  }
  for (std::size_t variant = 0; variant < result.config.variants.size(); ++variant) {
    const auto is_of = [variant](const SweepPoint& p) { return p.variant == variant; };
    if (std::none_of(result.points.begin(), result.points.end(),
                     [&](const SweepPoint& p) { return is_of(p) && ran(p); })) {
      const auto first = std::find_if(result.points.begin(), result.points.end(), is_of);
      text += paragraph(fmt::format("No point of {} can be, the first because of {}",
                                    result.config.variants[variant].name, first->reason));
    }
  }
  return text;
}

}  // namespace

std::string sweep_table(const SweepResult& result) {
  const SweepConfig& config = result.config;
  const bool few = result.points.size() <= few_points || config.axes.size() <= 1;
  const bool compared = config.variants.size() > 1;
  std::string text;
  if (few || !compared) {
    text += points_table(result);
  }
  if (compared) {
    text += (text.empty() ? "" : "\n") + MapPrinter(result).text();
  }
  return text + objectives_text(result) + gaps_text(result);
}

}  // namespace qfs
