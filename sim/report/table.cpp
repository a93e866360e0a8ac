#include "sim/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/block_note.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"

namespace qfs {
namespace {

constexpr const char* latency_crossover = "latency";

/// Whether the merge waits for the sweep at this point, by the crossover found for its block.
bool beyond_crossover(const RunResult& result, const PointResult& point) {
  return std::any_of(
      result.crossovers.begin(), result.crossovers.end(), [&](const Crossover& crossover) {
        if (crossover.name != latency_crossover || crossover.block != point.block) {
          return false;
        }
        const auto context = static_cast<double>(point.context);
        return crossover.state == CrossoverState::exposed_at_0 ||
               (crossover.state == CrossoverState::found && context > crossover.simulated);
      });
}

bool disagrees(const PointAnalysis& analysis) {
  return analysis.closed_form && analysis.closed_form->expected && !analysis.closed_form->agrees();
}

std::string closed_form_text(const PointAnalysis& analysis) {
  if (!analysis.closed_form) {
    return "-";
  }
  return deviation_text(analysis.closed_form->deviation) + (disagrees(analysis) ? " !" : "");
}

/// The main block's point at the same context; itself if there is none.
const PointAnalysis& main_of(const RunResult& result, std::span<const PointAnalysis> analyses,
                             const PointAnalysis& analysis) {
  const auto found =
      std::find_if(analyses.begin(), analyses.end(), [&](const PointAnalysis& other) {
        return other.point->context == analysis.point->context &&
               other.point->block == result.config.block;
      });
  return found == analyses.end() ? analysis : *found;
}

void add_point(TextTable& table, const RunResult& result, std::span<const PointAnalysis> analyses,
               const PointAnalysis& analysis, bool first_of_context) {
  const PointResult& point = *analysis.point;
  const StepLedger& ledger = analysis.ledgers.front();
  const PointAnalysis& main = main_of(result, analyses, analysis);
  const std::string mark = beyond_crossover(result, point) ? " *" : "";
  table.add({first_of_context ? context_text(point.context) : "",
             std::string(name_of(point.block)) + mark,
             microseconds_text(to_microseconds(analysis.step_time())),
             &main == &analysis ? "" : fmt::format("{:.3f}x", speedup(main, analysis)),
             microseconds_text(to_microseconds(ledger.sweep_busy)),
             percent_text(ledger.hidden_share()),
             microseconds_text(to_microseconds(ledger.sweep_exposed)), closed_form_text(analysis),
             percent_text(analysis.roofline_share)});
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

std::string points_part(const RunResult& result, std::span<const PointAnalysis> analyses) {
  TextTable table("llrrrrrrr", {"context", "block", "step us", "speed-up", "sweep us", "hidden",
                                "exposed us", "closed form", "roofline"});
  const PointAnalysis* before = nullptr;
  for (const PointAnalysis* point : by_context(analyses)) {
    const PointAnalysis& analysis = *point;
    const bool first = !before || before->point->context != analysis.point->context;
    if (before && first) {
      table.gap();
    }
    add_point(table, result, analyses, analysis, first);
    before = &analysis;
  }
  return table.text();
}

std::string disagreement_part(std::span<const PointAnalysis> analyses) {
  const auto count = std::count_if(analyses.begin(), analyses.end(), disagrees);
  if (count == 0) {
    return "";
  }
  return fmt::format(
      "\n  DISAGREEMENT: at {} of {} points (!) simulation and closed form differ by more than "
      "{:.0e}.\n",
      count, analyses.size(), agreement_tolerance);
}

std::string where_text(const Crossover& crossover) {
  switch (crossover.state) {
    case CrossoverState::found:
      return grouped(crossover.simulated, 3);
    case CrossoverState::exposed_at_0:
      return "from an empty cache on";
    case CrossoverState::never:
      return "not reached";
  }
  return "?";
}

std::string meaning_of(const Crossover& crossover) {
  if (crossover.name == latency_crossover) {
    return "the merge waits for the sweep";
  }
  return crossover.name == "ffn" ? "a sweep outlasts the layer's ffn" : "";
}

std::string crossovers_part(const RunResult& result) {
  if (result.crossovers.empty()) {
    return "";
  }
  TextTable table("llrrl", {"crossover", "block", "simulated", "closed form", "beyond it"});
  for (const Crossover& crossover : result.crossovers) {
    const std::string closed_form =
        crossover.closed_form ? grouped(*crossover.closed_form, 3) : "-";
    table.add({crossover.name, std::string(name_of(crossover.block)), where_text(crossover),
               closed_form, meaning_of(crossover)});
  }
  return "\nCrossovers, in cached positions per request\n" + table.text();
}

std::string blocks_part(const RunConfig& config) {
  std::string text = "\nBlock orders (document 001)\n";
  std::vector<BlockOrder> blocks{config.block};
  blocks.insert(blocks.end(), config.compare.begin(), config.compare.end());
  for (const BlockOrder block : blocks) {
    text += fmt::format("  {:<10}{}\n", name_of(block), block_note_text(block));
  }
  return text;
}

constexpr const char* legend = R"(
Legend
  step us      first token, from its input to its output, with the LM head if there is one; all
               times are simulated
  speed-up     step time of this block over that of the main block at the same context
  sweep us     time in which attention over the cache runs; hidden: the share of it beside the
               static operations; exposed us: the rest, which lengthens the step
  closed form  relative deviation of the simulated times from the formula for the same parameters
  roofline     lower bound of the step, from its busiest resource alone, over the step time
  *            beyond the block's latency crossover
  ledger       each instant counts once: o or merge, else another static operation (compute), else
               a sweep, else a message in flight, else waiting; below it the busiest resource (time
               at its peak rate) and the roofline
  /s/user      1 / TPOT; t_a, t_f: a layer's sweep and ffn; t_a2f, t_f2a: its messages to the
               compute side and to the cache side; balance: t_a / t_f
)";

}  // namespace

std::string report_table(const RunResult& result, std::span<const PointAnalysis> analyses) {
  const std::vector<const PointAnalysis*> main = main_points(result, analyses);
  std::string text = header_part(result.config) + "\n" + numerics_part(result);
  text += "\nSteps\n" + points_part(result, analyses) + disagreement_part(analyses);
  const std::string context = context_text(result.config.workload.context);
  text += fmt::format("\nWhere the first step goes, context {} (us)\n", context);
  text += ledger_part(main);
  text += fmt::format("\nSpeed and the two sides of a layer, context {} (us)\n", context);
  text += speed_part(main);
  text += crossovers_part(result) + blocks_part(result.config) + legend;
  return text + answer_part(result, analyses);
}

}  // namespace qfs
