#include <fmt/format.h>

#include <algorithm>

#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/sweep/sweep_report.hpp"

namespace qfs {
namespace {

/// A table of all points: only the columns in which they differ or have anything to say.
class PointsPrinter {
 public:
  explicit PointsPrinter(const SweepResult& result)
      : config_(result.config),
        staged_(any(result, [](const auto& f) { return f.blocks_staged > 0; })),
        computed_(any(result, [](const auto& f) { return f.errors.has_value(); })) {
    name_columns();
    TextTable table(alignment_, head_);
    for (const SweepPoint& point : result.points) {
      if (point.ran()) {
        table.add(cells(point));
      }
    }
    text_ = fmt::format("{}: every point\n\n{}", config_.name, table.text());
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  template <class Predicate>
  static bool any(const SweepResult& result, Predicate holds) {
    return std::any_of(result.points.begin(), result.points.end(), [&](const SweepPoint& point) {
      return point.ran() && holds(point.figures);
    });
  }

  void column(const std::string& name, char alignment) {
    head_.push_back(name);
    alignment_ += alignment;
  }

  void name_columns() {
    if (config_.equal.size() > 1) {
      column("equal", 'l');
    }
    for (const SweepAxis& axis : config_.axes) {
      column(axis.key, 'l');
    }
    column("variant", 'l');
    for (const char* name : {"requests", "step us", "TPOT us", "tokens/s", "exposed sweep us",
                             "exposed link us", "wire bytes"}) {
      column(name, 'r');
    }
    if (staged_) {
      column("staged", 'r');
      column("stale", 'r');
      column("tail fetch us", 'r');
    }
    if (computed_) {
      column("worst operation", 'r');
      column("end to end", 'r');
      column("from exact", 'r');
      column("numbers", 'l');
    }
  }

  [[nodiscard]] std::vector<std::string> cells(const SweepPoint& point) const {
    std::vector<std::string> cells;
    if (config_.equal.size() > 1) {
      cells.emplace_back(name_of(point.equal));
    }
    for (std::size_t axis = 0; axis < config_.axes.size(); ++axis) {
      cells.push_back(config_.label(axis, point.values[axis], point.equal));
    }
    cells.push_back(config_.variants[point.variant].name);
    const PointFigures& figures = point.figures;
    cells.push_back(grouped(static_cast<std::int64_t>(point.facts.batch * point.facts.in_flight)));
    cells.push_back(microseconds_text(figures.step_us));
    cells.push_back(microseconds_text(figures.tpot_us));
    cells.push_back(grouped(figures.tokens_per_s, 1));
    cells.push_back(microseconds_text(figures.exposed_sweep_us));
    cells.push_back(microseconds_text(figures.exposed_link_us));
    cells.push_back(grouped(figures.wire_bytes.value()));
    if (staged_) {
      cells.push_back(grouped(static_cast<std::int64_t>(figures.blocks_staged)));
      cells.push_back(grouped(static_cast<std::int64_t>(figures.blocks_stale)));
      cells.push_back(microseconds_text(figures.tail_fetch_us));
    }
    if (computed_) {
      add_errors(cells, figures.errors);
    }
    return cells;
  }

  static void add_errors(std::vector<std::string>& cells,
                         const std::optional<PointErrors>& errors) {
    if (!errors) {
      cells.insert(cells.end(), 4, "");
      return;
    }
    cells.push_back(fmt::format("{:.1e}", errors->operation));
    cells.push_back(fmt::format("{:.1e}", errors->end_to_end));
    cells.push_back(errors->softmax ? fmt::format("{:.2e}", *errors->softmax) : "-");
    cells.push_back(errors->failure.empty() ? "pass" : "FAIL " + errors->failure);
  }

  const SweepConfig& config_;
  bool staged_;
  bool computed_;
  std::vector<std::string> head_;
  std::string alignment_;
  std::string text_;
};

}  // namespace

std::string points_table(const SweepResult& result) { return PointsPrinter(result).text(); }

}  // namespace qfs
