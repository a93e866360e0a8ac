#include <fmt/format.h>

#include "sim/report/table_parts.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"

namespace qfs {
namespace {

std::string time_text(Femtoseconds time) { return microseconds_text(to_microseconds(time)); }
std::string time_text(Seconds time) { return microseconds_text(to_microseconds(time)); }

void add_ledger(TextTable& table, const PointAnalysis& point) {
  const StepLedger& ledger = point.ledger();
  const Femtoseconds parts[] = {ledger.merge_and_output, ledger.compute, ledger.sweep_exposed,
                                ledger.link_exposed,     ledger.waiting, ledger.total()};
  std::vector<std::string> times{block_of(point)};
  std::vector<std::string> shares{""};
  for (const Femtoseconds part : parts) {
    times.push_back(time_text(part));
    const double share = to_seconds(part).value() / to_seconds(ledger.total()).value();
    shares.push_back(percent_text(share));
  }
  table.add(std::move(times));
  table.add(std::move(shares));
}

std::string waiting_text(const PointAnalysis& point) {
  std::string text;
  for (const WaitingFor& wait : point.ledger().waiting_for) {
    text +=
        fmt::format("{}{} {} us", text.empty() ? "" : ", ", name_of(wait.op), time_text(wait.time));
  }
  return text.empty() ? "" : fmt::format("  {} waits for: {}\n", block_of(point), text);
}

std::string bound_text(const PointAnalysis& point) {
  if (point.bound.resource.empty()) {
    return "";
  }
  const std::optional<AnalyticBound>& roofline = point.point->analytic.roofline;
  return fmt::format(
      "  {}: {} {} of the step{}\n", block_of(point), point.bound.resource,
      percent_text(point.bound.share),
      roofline ? fmt::format("; roofline {} us ({})", time_text(roofline->time), roofline->resource)
               : "");
}

std::string rate_per_s(double rate) { return grouped(rate, rate < 1e5 ? 1 : 0); }

void add_speed(TextTable& table, const PointAnalysis& point) {
  const LayerSides& sides = point.sides;
  table.add({block_of(point), point.speed.tpot ? time_text(*point.speed.tpot) : "-",
             rate_per_s(point.speed.tokens_per_s), rate_per_s(point.speed.tokens_per_s_per_user),
             time_text(sides.t_a), time_text(sides.t_f), time_text(sides.t_a2f),
             time_text(sides.t_f2a), sides.balance_ratio ? grouped(*sides.balance_ratio, 3) : "-"});
}

}  // namespace

std::string context_of(const PointAnalysis& point) {
  return point.mixed ? "mixed" : context_text(point.point->context);
}

std::string block_of(const PointAnalysis& point) {
  return std::string(name_of(point.point->block));
}

std::vector<const PointAnalysis*> main_points(const RunResult& result,
                                              std::span<const PointAnalysis> analyses) {
  std::vector<const PointAnalysis*> points;
  for (const PointAnalysis& analysis : analyses) {
    if (analysis.point->context == result.config.workload.context) {
      points.push_back(&analysis);
    }
  }
  return points;
}

std::string ledger_part(std::span<const PointAnalysis* const> points) {
  TextTable table("lrrrrrr", {"block", "merge+output", "compute", "sweep exposed", "link exposed",
                              "waiting", "= step us"});
  std::string notes;
  for (const PointAnalysis* point : points) {
    add_ledger(table, *point);
    notes += waiting_text(*point) + bound_text(*point);
  }
  return table.text() + notes;
}

namespace {

/// What limits several waves in the long run, however well they are interleaved.
std::string round_text(const PointAnalysis& point) {
  const std::optional<AnalyticBound>& round = point.point->analytic.round;
  return round ? paragraph(fmt::format("{}: in the long run a token of every wave takes at least "
                                       "{} us ({})",
                                       block_of(point), time_text(round->time), round->resource))
               : "";
}

}  // namespace

std::string speed_part(std::span<const PointAnalysis* const> points) {
  TextTable table("lrrrrrrrr", {"block", "TPOT us", "tokens/s", "/s/user", "t_a_layer", "t_f_layer",
                                "t_a2f_layer", "t_f2a_layer", "balance"});
  std::string notes;
  for (const PointAnalysis* point : points) {
    add_speed(table, *point);
    notes += round_text(*point);
  }
  return table.text() + notes;
}

}  // namespace qfs
