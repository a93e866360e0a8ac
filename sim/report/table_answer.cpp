#include <fmt/format.h>

#include <algorithm>

#include "sim/report/table_parts.hpp"
#include "sim/report/text.hpp"

namespace qfs {
namespace {

std::string block_of(const PointAnalysis& point) {
  return std::string(name_of(point.point->block));
}

std::string step_text(const PointAnalysis& point) {
  return fmt::format("{} us", microseconds_text(to_microseconds(point.step_time())));
}

std::string hidden_text(const PointAnalysis& point) {
  return fmt::format("  {} of the sweep of {} hides beside the static operations.\n",
                     percent_text(point.ledgers.front().hidden_share()), block_of(point));
}

std::string comparison_text(const PointAnalysis& main, const PointAnalysis& other) {
  return fmt::format("  {} takes {} a step, {:.3f} times as fast as {} ({}).\n", block_of(main),
                     step_text(main), speedup(main, other), block_of(other), step_text(other));
}

/// The context among those run at which the main block gains most over another.
std::string best_gain_text(const RunResult& result, std::span<const PointAnalysis> analyses,
                           BlockOrder other) {
  const PointAnalysis* best = nullptr;
  double gain = 0;
  for (const PointAnalysis& point : analyses) {
    const auto rival = std::find_if(analyses.begin(), analyses.end(), [&](const auto& candidate) {
      return candidate.point->context == point.point->context && candidate.point->block == other;
    });
    if (point.point->block == result.config.block && rival != analyses.end() &&
        speedup(point, *rival) > gain) {
      best = &point;
      gain = speedup(point, *rival);
    }
  }
  return best == nullptr
             ? ""
             : fmt::format("  Largest gain over {} among the contexts run: {:.3f}x, at {}.\n",
                           name_of(other), gain, context_text(best->point->context));
}

std::string crossover_text(const Crossover& crossover) {
  switch (crossover.state) {
    case CrossoverState::found:
      return fmt::format("  Crossover of {}: the sweep hides up to {} positions per request.\n",
                         name_of(crossover.block), grouped(crossover.simulated, 0));
    case CrossoverState::exposed_at_0:
      return fmt::format("  Crossover of {}: none, the merge waits from an empty cache on.\n",
                         name_of(crossover.block));
    case CrossoverState::never:
      return fmt::format("  Crossover of {}: none, the sweep always hides.\n",
                         name_of(crossover.block));
  }
  return "";
}

}  // namespace

std::string answer_part(const RunResult& result, std::span<const PointAnalysis> analyses) {
  const std::vector<const PointAnalysis*> points = main_points(result, analyses);
  if (points.empty()) {
    return "";
  }
  const PointAnalysis& main = *points.front();
  std::string text = fmt::format("\nAnswer, context {}, batch {}\n",
                                 context_text(main.point->context), result.config.workload.batch);
  for (const PointAnalysis* other : points) {
    if (other != &main) {
      text += comparison_text(main, *other);
    }
  }
  if (points.size() == 1) {
    text += fmt::format("  {} takes {} a step.\n", block_of(main), step_text(main));
  }
  text += hidden_text(main);
  for (const PointAnalysis* other : points) {
    if (other != &main) {
      text += best_gain_text(result, analyses, other->point->block);
    }
  }
  for (const Crossover& crossover : result.crossovers) {
    if (crossover.name == "latency") {
      text += crossover_text(crossover);
    }
  }
  return text;
}

}  // namespace qfs
