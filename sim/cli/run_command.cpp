#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/load.hpp"
#include "sim/report/output_folder.hpp"
#include "sim/report/report.hpp"
#include "sim/run/run.hpp"

namespace qfs {
namespace {

namespace po = boost::program_options;

CommandLine command_line() {
  CommandLine line{
      "run",
      "qfsim run CONFIG [--set key.path=value]... [--out DIR] [--check]",
      "Simulates the run that CONFIG describes, prints its report and writes its folder.",
      {},
      {"CONFIG"},
      1};
  line.options.add_options()  //
      ("set", po::value<std::vector<std::string>>()->composing(),
       "override a key of CONFIG, e.g. --set workload.context='16 Ki'; may be repeated")   //
      ("out", po::value<std::string>(), "folder for the results (default: results/NAME)")  //
      ("check", "only check CONFIG: print the resolved configuration, run and write nothing");
  return line;
}

}  // namespace

int run_command(const Arguments& arguments) {
  OptionValues values;
  if (!parse(command_line(), arguments, values)) {
    return exit_done;
  }
  const std::vector<std::string> overrides = listed(values, "set");
  const RunConfig config = load_run_config(values["CONFIG"].as<std::string>(), overrides);
  const std::string resolved = to_yaml(config);
  const std::filesystem::path folder = values.count("out") != 0
                                           ? std::filesystem::path(values["out"].as<std::string>())
                                           : std::filesystem::path("results") / config.name;
  check_output_folder(folder);
  if (values.count("check") != 0) {
    fmt::print("{}", resolved);
    return exit_done;
  }
  const Report report = make_report(run(config), resolved);
  const bool replaces = std::filesystem::exists(folder / "summary.json");
  write_results(folder, report.files);
  fmt::print("{}\nresults in {}{}\n", report.table, folder.string(), replaces ? " (replaced)" : "");
  if (!report.numerics_passed) {
    std::fflush(stdout);
    fmt::print(stderr, "error: the numeric check failed: {}\n", report.numeric_failure);
    return exit_numerics_failed;
  }
  return exit_done;
}

}  // namespace qfs
