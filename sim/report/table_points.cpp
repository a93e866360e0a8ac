#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/report/table_parts.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"

namespace qfs {
namespace {

/// Whether the merge waits for the sweep at this point, by the crossover found for its block.
bool beyond_crossover(const RunResult& result, const PointResult& point) {
  return std::any_of(
      result.crossovers.begin(), result.crossovers.end(), [&](const Crossover& crossover) {
        if (crossover.kind != CrossoverKind::latency || crossover.block != point.block) {
          return false;
        }
        const auto context = static_cast<double>(point.context);
        return crossover.state == CrossoverState::exposed_at_0 ||
               (crossover.state == CrossoverState::found && context > crossover.simulated);
      });
}

bool disagrees(const PointAnalysis& analysis) {
  const std::optional<ClosedFormAgreement>& form = analysis.closed_form;
  return form && form->expected() && !form->agrees();
}

std::string closed_form_text(const PointAnalysis& analysis) {
  if (!analysis.closed_form) {
    return "-";
  }
  return deviation_text(analysis.closed_form->deviation) + (disagrees(analysis) ? " !" : "");
}

/// The first step against the formula at the bandwidths that the memories achieve.
std::string achieved_text(const PointAnalysis& analysis) {
  const std::optional<Seconds>& achieved = analysis.point->analytic.achieved_step_time;
  return achieved ? deviation_text(to_seconds(analysis.step_time()).value() / achieved->value() - 1)
                  : "-";
}

/// Empty for the baseline itself.
std::string speedup_text(const RunResult& result, std::span<const PointAnalysis> analyses,
                         const PointAnalysis& analysis) {
  const PointAnalysis* baseline = same_context(analyses, analysis, baseline_block(result.config));
  return baseline == nullptr || baseline == &analysis
             ? ""
             : fmt::format("{:.3f}x", speedup(analysis, *baseline));
}

void add_point(TextTable& table, const RunResult& result, std::span<const PointAnalysis> analyses,
               const PointAnalysis& analysis, bool first_of_context) {
  const PointResult& point = *analysis.point;
  const StepLedger& ledger = analysis.ledger();
  const char checked = point.numerics ? '>' : ' ';
  const std::string beyond = !analysis.mixed && beyond_crossover(result, point) ? " *" : "";
  std::vector<std::string> cells{first_of_context ? context_of(analysis) : "",
                                 block_of(analysis) + beyond,
                                 microseconds_text(to_microseconds(analysis.step_time())),
                                 speedup_text(result, analyses, analysis),
                                 microseconds_text(to_microseconds(ledger.sweep_busy)),
                                 percent_text(ledger.hidden_share()),
                                 microseconds_text(to_microseconds(ledger.sweep_exposed)),
                                 closed_form_text(analysis)};
  if (result.achieved) {
    cells.push_back(achieved_text(analysis));
  }
  cells.push_back(analysis.roofline_share ? percent_text(*analysis.roofline_share) : "-");
  table.add(cells, checked);
}

/// Contexts ascending, block orders as configured.
std::vector<const PointAnalysis*> by_context(std::span<const PointAnalysis> analyses) {
  std::vector<const PointAnalysis*> points;
  for (const PointAnalysis& analysis : analyses) {
    points.push_back(&analysis);
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const PointAnalysis* a, const PointAnalysis* b) {
                     return a->point->context < b->point->context;
                   });
  return points;
}

/// What the formula does not know about some of the points, a line each.
std::string not_in_formula_text(std::span<const PointAnalysis> analyses) {
  std::set<std::string> reasons;
  for (const PointAnalysis& analysis : analyses) {
    if (analysis.closed_form && !analysis.closed_form->expected()) {
      reasons.insert(analysis.closed_form->not_in_formula);
    }
  }
  std::string text;
  for (const std::string& reason : reasons) {
    text +=
        paragraph(fmt::format("closed form: without {}, so it is not expected to agree", reason));
  }
  return text;
}

std::string achieved_note(const RunResult& result) {
  if (!result.achieved) {
    return "";
  }
  const auto text = [](BytesPerSecond rate) { return rate_text(rate.value(), "B/s"); };
  return paragraph(
      fmt::format("achieved: against the closed form at what long reads get, not the peak: compute "
                  "device {}, cache device {}",
                  text(result.achieved->compute), text(result.achieved->cache)));
}

std::string disagreement_text(std::span<const PointAnalysis> analyses) {
  const auto count = std::count_if(analyses.begin(), analyses.end(), disagrees);
  if (count == 0) {
    return "";
  }
  return "\n" + paragraph(fmt::format("DISAGREEMENT: at {} of {} points (!) simulation and closed "
                                      "form differ by more than {:.0e}.",
                                      count, analyses.size(), agreement_tolerance));
}

}  // namespace

std::string points_part(const RunResult& result, std::span<const PointAnalysis> analyses) {
  const std::string versus = fmt::format("vs {}", name_of(baseline_block(result.config)));
  std::vector<std::string> head{"context",  "block",  "step us",    versus,
                                "sweep us", "hidden", "exposed us", "closed form"};
  if (result.achieved) {
    head.emplace_back("achieved");
  }
  head.emplace_back("roofline");
  TextTable table(result.achieved ? "llrrrrrrrr" : "llrrrrrrr", head);
  const PointAnalysis* before = nullptr;
  for (const PointAnalysis* point : by_context(analyses)) {
    const bool first = !before || before->point->context != point->point->context;
    if (before && first) {
      table.gap();
    }
    add_point(table, result, analyses, *point, first);
    before = point;
  }
  return table.text() + not_in_formula_text(analyses) + achieved_note(result) +
         disagreement_text(analyses);
}

}  // namespace qfs
