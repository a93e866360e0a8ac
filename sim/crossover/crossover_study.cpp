#include "sim/crossover/crossover_study.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "sim/report/csv.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/run/crossover_search.hpp"
#include "sim/run/progress.hpp"

namespace qfs {
namespace {

std::string positions_text(const std::optional<double>& positions) {
  return positions ? grouped(*positions, 1) : "-";
}

std::string simulated_text(const Crossover& crossover) {
  switch (crossover.state) {
    case CrossoverState::found:
      return grouped(crossover.simulated, 1);
    case CrossoverState::exposed_at_0:
      return "from 0";
    case CrossoverState::never:
      return "never";
  }
  return "?";
}

/// The contexts between which the quantity changes its sign.
std::string bracket_text(const Crossover& crossover) {
  if (crossover.state != CrossoverState::found) {
    return "";
  }
  const auto above = static_cast<std::int64_t>(crossover.first_beyond);
  return fmt::format("{} .. {}", grouped(above - 1), grouped(above));
}

std::vector<std::string> gain_cells(const GainFindings& findings, std::size_t context) {
  const std::optional<Gain>& largest = findings.gain.largest;
  const std::optional<std::size_t>& below = findings.gain.falls_below;
  const auto count = [](std::size_t positions) {
    return grouped(static_cast<std::int64_t>(positions));
  };
  const std::optional<Seconds>& latency = findings.break_even_latency;
  return {largest ? fmt::format("+{:.2f} %", 100 * largest->share) : "-",
          largest ? count(largest->context) : "-", below ? count(*below) : "-",
          latency ? fmt::format("{:.3f}", to_microseconds(*latency)) : "-", count(context)};
}

}  // namespace

std::vector<VariedRun> find_varied_crossovers(const std::filesystem::path& file,
                                              const std::vector<std::string>& overrides,
                                              const std::vector<Variation>& variations,
                                              double least_gain) {
  std::vector<VariedRun> runs;
  for (VariedConfig& varied : load_varied(file, overrides, variations)) {
    runs.push_back({std::move(varied.values), std::move(varied.config)});
  }
  ProgressStage stage("crossovers", runs.size());
  for (VariedRun& run : runs) {
    run.achieved = achieved_bandwidth(run.config);
    run.crossovers = find_crossovers(run.config);
    if (run.crossovers.empty()) {
      throw ConfigError(fmt::format(
          "{}: no crossovers to find: a sweep hides only with arrangement two_device or pooled and "
          "current_token merge",
          file.string()));
    }
    if (run.config.block != BlockOrder::standard) {
      run.simulated = {study_gain(run.config, least_gain, simulated_step),
                       break_even_latency(run.config, simulated_step)};
      run.closed_form = {study_gain(run.config, least_gain, closed_form_step),
                         break_even_latency(run.config, closed_form_step)};
    }
    stage.counter().advance();
    stage.show();
  }
  return runs;
}

std::string crossover_table(const std::vector<Variation>& variations,
                            const std::vector<VariedRun>& runs) {
  std::vector<std::string> head = keys_of(variations);
  std::string alignment(variations.size(), 'l');
  for (const char* name : {"crossover", "block"}) {
    head.emplace_back(name);
    alignment += 'l';
  }
  for (const char* name : {"closed form", "at achieved", "simulated", "bracket"}) {
    head.emplace_back(name);
    alignment += 'r';
  }
  TextTable table(alignment, head);
  for (const VariedRun& run : runs) {
    for (const Crossover& crossover : run.crossovers) {
      std::vector<std::string> cells = run.values;
      cells.emplace_back(name_of(crossover.kind));
      cells.emplace_back(name_of(crossover.block));
      cells.push_back(positions_text(crossover.closed_form));
      cells.push_back(positions_text(crossover.achieved));
      cells.push_back(simulated_text(crossover));
      cells.push_back(bracket_text(crossover));
      table.add(cells);
    }
  }
  return table.text() +
         "  cached positions per request; closed form: at the peak bandwidth; at achieved: at what "
         "long reads\n  of that DRAM get; - : none, or the memory is ideal\n";
}

std::string gain_table(const std::vector<Variation>& variations, const std::vector<VariedRun>& runs,
                       double least_gain) {
  std::vector<std::string> head = keys_of(variations);
  for (const std::string& name :
       {std::string("block"), std::string("by"), std::string("most over standard"),
        std::string("at"), fmt::format("below {:.3g} % from", 100 * least_gain),
        std::string("break-even us"), std::string("at")}) {
    head.push_back(name);
  }
  TextTable table(std::string(variations.size() + 2, 'l') + "rrrrr", head);
  bool any = false;
  for (const VariedRun& run : runs) {
    if (run.config.block == BlockOrder::standard) {
      continue;
    }
    any = true;
    const std::pair<const char*, const GainFindings&> ways[] = {{"simulation", run.simulated},
                                                                {"closed form", run.closed_form}};
    for (const auto& [way, findings] : ways) {
      std::vector<std::string> cells = run.values;
      cells.emplace_back(name_of(run.config.block));
      cells.emplace_back(way);
      for (const std::string& cell : gain_cells(findings, run.config.workload.context)) {
        cells.push_back(cell);
      }
      table.add(cells);
    }
  }
  return any ? table.text() +
                   "  break-even: latency one way up to which this is as fast as one compute "
                   "device "
                   "with everything,\n  block order standard, at that context; closed form: with "
                   "DRAM "
                   "at what its long reads get\n"
             : "";
}

std::string crossover_csv(const std::vector<Variation>& variations,
                          const std::vector<VariedRun>& runs) {
  std::string text;
  for (const Variation& variation : variations) {
    text += csv_field(variation.key) + ",";
  }
  text +=
      "crossover,block,state,closed_form_positions,closed_form_at_achieved_positions,"
      "simulated_positions,first_beyond_positions,compute_achieved_gb_per_s,"
      "cache_achieved_gb_per_s,largest_gain,largest_gain_at_positions,small_gain_from_positions,"
      "break_even_latency_us\n";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6f}", *value) : std::string();
  };
  for (const VariedRun& run : runs) {
    for (const Crossover& crossover : run.crossovers) {
      const bool found = crossover.state == CrossoverState::found;
      for (const std::string& value : run.values) {
        text += csv_field(value) + ",";
      }
      const GainFindings& gains = run.simulated;
      const std::optional<Gain>& largest = gains.gain.largest;
      const std::optional<std::size_t>& below = gains.gain.falls_below;
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{}\n", name_of(crossover.kind),
          name_of(crossover.block), name_of(crossover.state), number(crossover.closed_form),
          number(crossover.achieved), found ? number(crossover.simulated) : "",
          found ? std::to_string(crossover.first_beyond) : "",
          run.achieved ? number(run.achieved->compute.value() / 1e9) : "",
          run.achieved ? number(run.achieved->cache.value() / 1e9) : "",
          largest ? number(largest->share) : "", largest ? std::to_string(largest->context) : "",
          below ? std::to_string(*below) : "",
          gains.break_even_latency ? number(to_microseconds(*gains.break_even_latency)) : "");
    }
  }
  return text;
}

}  // namespace qfs
