#include "sim/report/table.hpp"

#include <fmt/format.h>

#include <string_view>

#include "sim/report/block_note.hpp"
#include "sim/report/dram_use.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"

namespace qfs {
namespace {

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
  switch (crossover.kind) {
    case CrossoverKind::ffn:
      return "a sweep outlasts the layer's ffn";
    case CrossoverKind::latency:
      return "the merge waits for the sweep";
    case CrossoverKind::busy:
      return "the cache side is busy for longer than the pool";
  }
  return "?";
}

/// DESIGN.md 7 counts waits of more than half a position's sweep; less is rounding, or an append
/// that happened to share the memory with the sweep.
bool differs(const Crossover& crossover, bool expected) {
  constexpr double half_a_position = 0.5;
  constexpr double relative = 1e-6;
  return expected && crossover.state == CrossoverState::found && crossover.closed_form &&
         std::abs(crossover.simulated - *crossover.closed_form) >
             std::max(half_a_position, relative * crossover.simulated);
}

std::string crossovers_part(const RunResult& result) {
  if (result.crossovers.empty()) {
    return "";
  }
  const bool dram = result.achieved.has_value();
  std::vector<std::string> head{"crossover", "block", "simulated", "closed form"};
  if (dram) {
    head.emplace_back("achieved");
  }
  head.emplace_back("beyond it");
  TextTable table(dram ? "llrrrl" : "llrrl", head);
  for (const Crossover& crossover : result.crossovers) {
    const std::string closed_form =
        crossover.closed_form
            ? grouped(*crossover.closed_form, 3) + (differs(crossover, !dram) ? " !" : "")
            : "-";
    std::vector<std::string> row{std::string(name_of(crossover.kind)),
                                 std::string(name_of(crossover.block)), where_text(crossover),
                                 closed_form};
    if (dram) {
      row.push_back(crossover.achieved ? grouped(*crossover.achieved, 3) : "-");
    }
    row.push_back(meaning_of(crossover));
    table.add(row);
  }
  const bool waves = result.config.workload.in_flight > 1;
  return fmt::format("\nCrossovers, in cached positions per request{}\n{}",
                     waves ? ", of one wave by itself" : "", table.text());
}

std::string blocks_part(const RunConfig& config) {
  std::string text =
      fmt::format("\nBlock orders (quality as measured in {}, bits per byte)\n", block_source);
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
  {:<11}  step time of {} over that of this block at the same context; above 1 is faster
  sweep us     time in which attention over the cache runs; hidden: the share of it beside the
               static operations; exposed us: the rest, which lengthens the step
  closed form  relative deviation of the simulated times from the formula for the same parameters
  roofline     lower bound of the step, from its busiest resource alone, over the step time
  >            numbers were computed and checked here too; elsewhere times only
  *            beyond the block's latency crossover
  !            should agree within {:.0e} and does not
  -            no value: no formula for this case, no cached position to leave out, or no TPOT of
               one token
  ledger       each instant counts once: o or merge, else another static operation (compute), else
               a sweep, else a message in flight, else waiting; below it the busiest resource (time
               at its peak rate) and the roofline
  /s/user      1 / TPOT; t_a, t_f: a layer's sweep and ffn; t_a2f, t_f2a: its messages to the
               compute side and to the cache side; balance: t_a / t_f
)";

constexpr const char* waves_legend =
    R"(  waves        steps, sweeps, ledger and sides are those of wave 0, which goes first where
               two are ready; TPOT and tokens/s are of all requests; closed form: of every wave
)";

std::string legend_part(const RunConfig& config) {
  const std::string_view baseline = name_of(baseline_block(config));
  return fmt::format(legend, fmt::format("vs {}", baseline), baseline, agreement_tolerance) +
         (config.workload.in_flight > 1 ? waves_legend : "");
}

}  // namespace

std::string report_table(const RunResult& result, std::span<const PointAnalysis> analyses) {
  const std::vector<const PointAnalysis*> main = main_points(result, analyses);
  std::string text = header_part(result.config) + "\n" + numerics_part(result);
  text += "\nSteps\n" + points_part(result, analyses);
  const std::string context = context_of(*main.front());
  text += fmt::format("\nWhere the first step goes, context {} (us)\n", context);
  text += ledger_part(main);
  text += fmt::format("\nSpeed and the two sides of a layer, context {} (us)\n", context);
  text += speed_part(main);
  text += dram_part(result.config, main);
  text += crossovers_part(result) + blocks_part(result.config) + legend_part(result.config);
  return text + answer_part(result, analyses);
}

}  // namespace qfs
