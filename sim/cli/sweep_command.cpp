#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/report/output_folder.hpp"
#include "sim/sweep/sweep_report.hpp"

namespace qfs {
namespace {

namespace po = boost::program_options;

CommandLine command_line() {
  CommandLine line{
      "sweep",
      "qfsim sweep SWEEP [--out DIR]",
      "Times a run in every combination of some axes and in several variants, and says which "
      "variant is best where.",
      {},
      {"SWEEP"},
      1};
  line.options.add_options()  //
      ("out", po::value<std::string>(), "folder for the results (default: results/NAME)");
  return line;
}

/// Those whose numbers are wrong.
std::size_t wrong_points(const SweepResult& result) {
  return static_cast<std::size_t>(
      std::count_if(result.points.begin(), result.points.end(), [](const SweepPoint& point) {
        return point.figures.errors && !point.figures.errors->failure.empty();
      }));
}

}  // namespace

int sweep_command(const Arguments& arguments) {
  OptionValues values;
  if (!parse(command_line(), arguments, values)) {
    return exit_done;
  }
  const SweepConfig config = load_sweep_config(values["SWEEP"].as<std::string>());
  const std::filesystem::path folder = values.count("out") != 0
                                           ? std::filesystem::path(values["out"].as<std::string>())
                                           : std::filesystem::path("results") / config.name;
  check_output_folder(folder, sweep_results);
  const SweepResult result = run_sweep(config);
  const std::string table = sweep_table(result);
  write_results(folder, {{"sweep.csv", sweep_csv(result)}, {"best.txt", table}}, sweep_results);
  fmt::print("{}\nresults in {}\n", table, folder.string());
  if (const std::size_t wrong = wrong_points(result); wrong > 0) {
    std::fflush(stdout);
    fmt::print(stderr, "error: the numeric check failed at {} of {} points\n", wrong,
               result.points.size());
    return exit_numerics_failed;
  }
  const auto failed = std::count_if(result.points.begin(), result.points.end(),
                                    [](const SweepPoint& point) { return point.failed; });
  if (failed > 0) {
    std::fflush(stdout);
    fmt::print(stderr, "error: the run failed at {} of {} points\n", failed, result.points.size());
    return exit_run_failed;
  }
  return exit_done;
}

}  // namespace qfs
