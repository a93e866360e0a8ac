#include "sim/sweep/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "sim/report/text_table.hpp"

namespace qfs {
namespace {

std::string equal_name(Equal equal) {
  switch (equal) {
    case Equal::wave:
      return "wave";
    case Equal::resident:
      return "resident";
    case Equal::memory:
      return "memory";
  }
  return {};
}

std::string quoted(const std::string& text) {
  std::string doubled;
  for (const char c : text) {
    doubled += c == '"' ? "\"\"" : std::string(1, c);
  }
  return text.find_first_of(",\"\n") == std::string::npos ? text : '"' + doubled + '"';
}

/// The variants at one point of the axes.
using Variants = std::span<const SweepPoint>;

bool ran(const SweepPoint& point) { return point.refused.empty(); }

/// Larger is better.
double merit(const SweepPoint& point) {
  if (!ran(point)) {
    return 0;
  }
  return point.equal == Equal::wave ? 1 / point.times.tpot_us : point.times.tokens_per_s;
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

  std::string text() {
    std::string text = fmt::format("{}: the best variant, and its gain over {}\n", config_.name,
                                   config_.variants[0].name);
    const std::size_t axes = config_.axes.size();
    columns_ = axes > 0 ? config_.axes[axes - 1].values.size() : 1;
    rows_ = axes > 1 ? config_.axes[axes - 2].values.size() : 1;
    for (std::size_t at = 0; at < result_.points.size(); at += rows_ * columns_ * variants_) {
      text += map_at(at);
    }
    return text;
  }

 private:
  [[nodiscard]] std::string label(std::size_t axis, std::size_t value) const {
    return config_.axes[axis].values[value];
  }

  [[nodiscard]] std::string map_at(std::size_t at) const {
    const SweepPoint& first = result_.points[at];
    const std::size_t axes = config_.axes.size();
    std::string title = heading(first.equal);
    for (std::size_t axis = 0; axis + 2 < axes; ++axis) {
      title += fmt::format(", {} {}", config_.axes[axis].key, label(axis, first.values[axis]));
    }
    std::vector<std::string> head{axes > 1 ? config_.axes[axes - 2].key : ""};
    for (std::size_t column = 0; column < columns_; ++column) {
      head.push_back(axes > 0 ? label(axes - 1, column) : "");
    }
    if (axes > 0) {
      title += fmt::format("; columns: {}", config_.axes[axes - 1].key);
    }
    TextTable table(std::string(head.size(), 'l'), head);
    for (std::size_t row = 0; row < rows_; ++row) {
      table.add(cells(at + row * columns_ * variants_, axes > 1 ? label(axes - 2, row) : ""));
    }
    return fmt::format("\n{}\n{}", title, table.text());
  }

  [[nodiscard]] std::vector<std::string> cells(std::size_t at, std::string name) const {
    std::vector<std::string> cells{std::move(name)};
    for (std::size_t column = 0; column < columns_; ++column) {
      cells.push_back(
          best_of(config_, Variants(result_.points).subspan(at + column * variants_, variants_)));
    }
    return cells;
  }

  const SweepResult& result_;
  const SweepConfig& config_;
  std::size_t variants_;
  std::size_t rows_ = 1;
  std::size_t columns_ = 1;
};

}  // namespace

std::string sweep_csv(const SweepResult& result) {
  std::string text = "equal";
  for (const SweepAxis& axis : result.config.axes) {
    text += "," + quoted(axis.key);
  }
  text +=
      ",variant,batch,in_flight,resident_requests,resident_kv_bytes,step_us,tpot_us,worst_tpot_us,"
      "tokens_per_s,refused\n";
  for (const SweepPoint& point : result.points) {
    text += equal_name(point.equal);
    for (std::size_t axis = 0; axis < point.values.size(); ++axis) {
      text += "," + quoted(result.config.axes[axis].values[point.values[axis]]);
    }
    text += "," + quoted(result.config.variants[point.variant].name);
    if (ran(point)) {
      text +=
          fmt::format(",{},{},{},{},{:.6f},{:.6f},{:.6f},{:.6f},\n", point.batch, point.in_flight,
                      point.batch * point.in_flight, point.resident_kv.value(), point.times.step_us,
                      point.times.tpot_us, point.times.worst_tpot_us, point.times.tokens_per_s);
    } else {
      text += fmt::format(",,,,,,,,,{}\n", quoted(point.refused));
    }
  }
  return text;
}

std::string sweep_table(const SweepResult& result) { return MapPrinter(result).text(); }

}  // namespace qfs
