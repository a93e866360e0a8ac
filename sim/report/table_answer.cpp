#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/report/numeric_verdict.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/report/text.hpp"

namespace qfs {
namespace {

constexpr double same_time = 1e-9;  // relative

std::string time_text(Femtoseconds time) { return microseconds_text(to_microseconds(time)); }

std::string step_text(const PointAnalysis& point) {
  return fmt::format("{} us", time_text(point.step_time()));
}

/// "a", "a and b", "a, b and c"
std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool last = i + 1 == items.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + items[i];
  }
  return text;
}

std::string numbers_text(const RunResult& result) {
  const NumericVerdict verdict = numeric_verdict(result);
  if (!verdict.passed()) {
    return fmt::format(
        "NUMBERS FAILED ({}): these times come from a run that computed something else.",
        verdict.failure);
  }
  if (verdict.checked) {
    return fmt::format("Numbers: PASS (worst operation error {:.1e}, end to end {:.1e})",
                       verdict.operation, verdict.end_to_end);
  }
  const bool computed = result.config.numerics.mode == NumericsMode::full;
  return computed ? "Numbers: computed, not checked" : "Numbers: not computed";
}

std::string comparison_text(const PointAnalysis& main, const PointAnalysis& other) {
  const double gain = speedup(main, other);
  if (std::abs(gain - 1) <= same_time) {
    return fmt::format("{} and {} take the same time ({} a step).", block_of(main), block_of(other),
                       step_text(main));
  }
  const std::string how = gain > 1 ? fmt::format("{:.3f}x as fast as", gain)
                                   : fmt::format("{:.3f}x slower than", 1 / gain);
  return fmt::format("{} is {} {} ({} against {} a step).", block_of(main), how, block_of(other),
                     step_text(main), step_text(other));
}

/// A row of the ledger, and how much less of it one block has than another.
struct Saving {
  const char* name;
  bool exposed;  // it counts what could not be hidden
  Femtoseconds time;
};

std::vector<Saving> savings(const StepLedger& from, const StepLedger& to) {
  std::vector<Saving> rows{
      {"sweep", true, from.sweep_exposed - to.sweep_exposed},
      {"link", true, from.link_exposed - to.link_exposed},
      {"waiting", false, from.waiting - to.waiting},
      {"compute", false, from.compute - to.compute},
      {"merge and output", false, from.merge_and_output - to.merge_and_output}};
  constexpr std::int64_t printed = 500'000;  // half of the last digit that is printed
  std::erase_if(rows, [](const Saving& row) { return std::abs(row.time.value()) < printed; });
  return rows;
}

/// Where the gain of the main block against another comes from; empty if there is none.
std::string savings_text(const PointAnalysis& main, const PointAnalysis& other) {
  if (std::abs(speedup(main, other) - 1) <= same_time) {
    return "";
  }
  std::vector<std::string> hidden;
  std::vector<std::string> rest;
  for (const Saving& row : savings(other.ledger(), main.ledger())) {
    const bool less = row.time.value() > 0;
    const std::string time = time_text(Femtoseconds(std::abs(row.time.value())));
    if (row.exposed && less) {
      hidden.push_back(fmt::format("{} us of {}", time, row.name));
    } else {
      rest.push_back(fmt::format("{} us {} of {}{}", time, less ? "less" : "more",
                                 row.exposed ? "exposed " : "", row.name));
    }
  }
  if (hidden.empty() && rest.empty()) {
    return "";
  }
  std::string where = hidden.empty() ? "" : listed(hidden) + " no longer exposed";
  where += (hidden.empty() || rest.empty() ? "" : "; ") + listed(rest);
  const Femtoseconds gain = other.step_time() - main.step_time();
  return paragraph(fmt::format("Against {} it {} {} us a step: {}.", block_of(other),
                               gain.value() < 0 ? "loses" : "saves",
                               time_text(Femtoseconds(std::abs(gain.value()))), where));
}

std::string hidden_text(const PointAnalysis& point) {
  const StepLedger& ledger = point.ledger();
  return ledger.sweep_busy.value() == 0
             ? ""
             : paragraph(fmt::format("{} of the sweep of {} hides beside the static operations.",
                                     percent_text(ledger.hidden_share()), block_of(point)));
}

/// What of the main block's step no static operation covers.
std::string still_exposed_text(const PointAnalysis& point) {
  const StepLedger& ledger = point.ledger();
  const std::pair<const char*, Femtoseconds> rows[] = {
      {"sweep", ledger.sweep_exposed}, {"link", ledger.link_exposed}, {"waiting", ledger.waiting}};
  std::string exposed;
  for (const auto& [name, time] : rows) {
    if (time.value() > 0) {
      exposed += fmt::format("{} {} us, ", name, time_text(time));
    }
  }
  return paragraph(exposed.empty() ? fmt::format("Nothing is exposed in {}.", block_of(point))
                                   : fmt::format("Still exposed in {}: {}of {}.", block_of(point),
                                                 exposed, step_text(point)));
}

struct Gain {
  std::size_t context = 0;
  double speedup = 0;
};

/// Of the main block over another, at every context run, ascending.
std::vector<Gain> gains(const RunResult& result, std::span<const PointAnalysis> analyses,
                        BlockOrder other) {
  std::vector<Gain> gains;
  for (const PointAnalysis& point : analyses) {
    const PointAnalysis* rival = same_context(analyses, point, other);
    if (point.point->block == result.config.block && rival != nullptr && !point.mixed) {
      gains.push_back({point.point->context, speedup(point, *rival)});
    }
  }
  std::stable_sort(gains.begin(), gains.end(),
                   [](const Gain& a, const Gain& b) { return a.context < b.context; });
  return gains;
}

/// So many of 0 .. size - 1, evenly apart, with the first and the last.
std::set<std::size_t> evenly_chosen(std::size_t size, std::size_t count) {
  std::set<std::size_t> indexes;
  for (std::size_t i = 0; i < count; ++i) {
    indexes.insert(i * (size - 1) / (count - 1));
  }
  return indexes;
}

/// At most eight of them, evenly chosen; the first, the last and the best are among them.
std::vector<Gain> chosen(const std::vector<Gain>& all) {
  constexpr std::size_t most = 8;
  if (all.size() <= most) {
    return all;
  }
  const auto less = [](const Gain& a, const Gain& b) { return a.speedup < b.speedup; };
  const auto best =
      static_cast<std::size_t>(std::max_element(all.begin(), all.end(), less) - all.begin());
  std::set<std::size_t> indexes = evenly_chosen(all.size(), most);
  if (!indexes.contains(best)) {
    indexes = evenly_chosen(all.size(), most - 1);
    indexes.insert(best);
  }
  std::vector<Gain> chosen;
  chosen.reserve(indexes.size());
  for (const std::size_t index : indexes) {
    chosen.push_back(all[index]);
  }
  return chosen;
}

std::string gains_text(const RunResult& result, std::span<const PointAnalysis> analyses,
                       BlockOrder other) {
  const std::vector<Gain> all = gains(result, analyses, other);
  const auto gained = [](const Gain& gain) { return gain.speedup > 1 + same_time; };
  if (all.size() < 2) {
    return "";
  }
  std::string text;
  if (std::none_of(all.begin(), all.end(), gained)) {
    text = "no gain at any context run";
  } else {
    for (const Gain& gain : chosen(all)) {
      text += fmt::format("{}{:.3f}x at {}", text.empty() ? "" : ", ", gain.speedup,
                          context_text(gain.context));
    }
  }
  return paragraph(fmt::format("{} over {} by context: {}.", name_of(result.config.block),
                               name_of(other), text));
}

std::string crossover_text(const Crossover& crossover) {
  std::string of = fmt::format("Crossover of {}: ", name_of(crossover.block));
  switch (crossover.state) {
    case CrossoverState::found:
      if (crossover.simulated < 1) {
        return of +
               "below one position per request; from the first on the merge waits for the sweep.";
      }
      return of + fmt::format(
                      "up to {} positions per request the sweep adds nothing to the step; "
                      "beyond, the merge waits for it.",
                      grouped(static_cast<std::int64_t>(std::floor(crossover.simulated))));
    case CrossoverState::exposed_at_0:
      return of + "none, the merge waits from an empty cache on.";
    case CrossoverState::never:
      return of + fmt::format("none up to {} positions per request; the search ends there.",
                              grouped(static_cast<std::int64_t>(crossover.searched)));
  }
  return of;
}

std::string crossovers_text(const RunResult& result) {
  std::string text;
  for (const Crossover& crossover : result.crossovers) {
    if (crossover.kind == CrossoverKind::latency) {
      text += paragraph(crossover_text(crossover));
    }
  }
  return text;
}

}  // namespace

std::string answer_part(const RunResult& result, std::span<const PointAnalysis> analyses) {
  const std::vector<const PointAnalysis*> points = main_points(result, analyses);
  if (points.empty()) {
    return "";
  }
  const PointAnalysis& main = *points.front();
  const Workload& workload = result.config.workload;
  std::string text =
      fmt::format("\nAnswer, context {}, batch {}{}\n", context_of(main), workload.batch,
                  workload.in_flight > 1 ? fmt::format(", in flight {}", workload.in_flight) : "");
  text += paragraph(numbers_text(result));
  if (points.size() == 1) {
    text += paragraph(fmt::format("{} takes {} a step.", block_of(main), step_text(main)));
  }
  const BlockOrder baseline = baseline_block(result.config);
  for (const PointAnalysis* other : std::span(points).subspan(1)) {
    text += paragraph(comparison_text(main, *other));
    text += other->point->block == baseline ? savings_text(main, *other) : "";
  }
  text += hidden_text(main) + still_exposed_text(main);
  for (const PointAnalysis* other : std::span(points).subspan(1)) {
    text += gains_text(result, analyses, other->point->block);
  }
  return text + crossovers_text(result);
}

}  // namespace qfs
