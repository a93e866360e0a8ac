#include <fmt/format.h>

#include <algorithm>

#include "sim/config/system_config.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"

namespace qfs {
namespace {

std::vector<const PointResult*> checked_points(const RunResult& result) {
  std::vector<const PointResult*> points;
  for (const PointResult& point : result.points) {
    if (point.numerics) {
      points.push_back(&point);
    }
  }
  return points;
}

/// a > b, where a NaN is greater than anything.
bool worse(double a, double b) { return !(a <= b); }

std::string place_text(const OperationError& error) {
  return fmt::format("layer {}, step {}, request {}", error.layer.value(), error.step.value(),
                     error.request.value());
}

/// One kind of operation over all checked points.
struct KindLine {
  std::size_t operations = 0;
  const KindErrors* worst = nullptr;
  BlockOrder block = BlockOrder::standard;
};

KindLine kind_line(std::span<const PointResult* const> points, OpKind op) {
  KindLine line;
  for (const PointResult* point : points) {
    for (const KindErrors& kind : point->numerics->kinds) {
      if (kind.kind != op) {
        continue;
      }
      line.operations += kind.operations;
      if (!line.worst || worse(kind.worst.relative_error, line.worst->worst.relative_error)) {
        line.worst = &kind;
        line.block = point->block;
      }
    }
  }
  return line;
}

std::string kinds_table(std::span<const PointResult* const> points) {
  TextTable table("lrrrl", {"operation", "checked", "worst error", "tolerance", "where"});
  for (const auto& [op, name] : enum_names<OpKind>) {
    const KindLine line = kind_line(points, op);
    if (line.worst) {
      const OperationError& worst = line.worst->worst;
      table.add({std::string(name), grouped(static_cast<std::int64_t>(line.operations)),
                 fmt::format("{:.1e}", worst.relative_error),
                 fmt::format("{:.1e}", line.worst->tolerance),
                 fmt::format("{}, {}", name_of(line.block), place_text(worst))});
    }
  }
  return table.text();
}

std::vector<std::string> end_to_end_cells(const PointResult& point) {
  const NumericReport& report = *point.numerics;
  double worst = 0;
  std::size_t same = 0;
  for (const EndToEndError& error : report.end_to_end) {
    worst = worse(error.relative_error, worst) ? error.relative_error : worst;
    same += error.same_token ? 1 : 0;
  }
  const bool swept = report.sensitivity.sweeps > 0;
  return {std::string(name_of(point.block)),
          fmt::format("{:.1e}", worst),
          fmt::format("{:.1e}", report.end_to_end_tolerance),
          fmt::format("{:.1e}", report.graph_error),
          fmt::format("{:.1e}", report.graph_tolerance),
          fmt::format("{} of {}", same, report.end_to_end.size()),
          swept ? fmt::format("{:.1e}", report.sensitivity.newest) : "-",
          swept ? fmt::format("{:.1e}", report.sensitivity.oldest) : "-"};
}

std::string end_to_end_table(std::span<const PointResult* const> points) {
  TextTable table("lrrrrrrr", {"block", "end to end", "tolerance", "graph", "tolerance",
                               "same token", "without newest", "without oldest"});
  for (const PointResult* point : points) {
    table.add(end_to_end_cells(*point));
  }
  return table.text();
}

std::string failure_text(const PointResult& point) {
  const NumericReport& report = *point.numerics;
  if (report.failures.empty()) {
    return fmt::format("  {}: {} beyond its tolerance\n", name_of(point.block),
                       report.end_to_end_passed() ? "the graph" : "end to end");
  }
  const OperationError& first = report.failures.front();
  return fmt::format("  {}: first failure {} at {}, error {:.1e} ({} failed)\n",
                     name_of(point.block), name_of(first.kind), place_text(first),
                     first.relative_error, counted(report.failures.size(), "operation"));
}

std::string failures_text(std::span<const PointResult* const> points) {
  std::string text;
  for (const PointResult* point : points) {
    if (!point->numerics->passed()) {
      text += failure_text(*point);
    }
  }
  return text;
}

std::string unchecked_text(const Numerics& numerics) {
  const bool computed = numerics.mode == NumericsMode::full;
  return computed ? "Numbers: computed, not checked (numerics.check: off)\n"
                  : "Numbers: not computed, times only (numerics.mode: off)\n";
}

}  // namespace

std::string numerics_part(const RunResult& result) {
  const std::vector<const PointResult*> points = checked_points(result);
  if (points.empty()) {
    return unchecked_text(result.config.numerics);
  }
  const std::string failures = failures_text(points);
  std::string text = fmt::format(
      "Numbers: {} - every operation recomputed in fp64 from its real inputs, "
      "context {}\n",
      failures.empty() ? "PASS" : "FAIL",
      has_own_requests(result.config, points.front()->context)
          ? "mixed"
          : context_text(points.front()->context));
  text += failures + kinds_table(points) + "\n" + end_to_end_table(points);
  text +=
      "  Errors are relative (L2). End to end: against an fp64 decoder with the same weights and\n"
      "  initial cache, the cost of rounding activations and appended rows. Graph: what its edges\n"
      "  mean, evaluated in fp64 without rounding, against the same decoder. Without newest, "
      "oldest:\n"
      "  what leaving that cached position out of a sweep would have done to its result, at "
      "least.\n";
  return text;
}

}  // namespace qfs
