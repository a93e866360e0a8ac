#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/crossover/crossover_study.hpp"

namespace qfs {
namespace {

namespace po = boost::program_options;

CommandLine command_line() {
  CommandLine line{
      "crossover",
      "qfsim crossover CONFIG [--vary key.path=value,value...]... [--set key.path=value]... "
      "[--csv]",
      "Finds the contexts at which the sweep of the run that CONFIG describes stops hiding, by "
      "simulation to one position, each beside its closed form.",
      {},
      {"CONFIG"},
      1};
  line.options.add_options()  //
      ("vary", po::value<std::vector<std::string>>()->composing(),
       "search for each of these values of a key; several: in every combination")  //
      ("set", po::value<std::vector<std::string>>()->composing(),
       "override a key of CONFIG; may be repeated")  //
      ("gain", po::value<double>()->default_value(5),
       "percent: from which context on the block gains less over standard")  //
      ("csv", "print comma-separated values instead of a table");
  return line;
}

}  // namespace

int crossover_command(const Arguments& arguments) {
  OptionValues values;
  if (!parse(command_line(), arguments, values)) {
    return exit_done;
  }
  const std::vector<Variation> variations = parse_variations(listed(values, "vary"));
  const double least_gain = share_of(command_line(), values, "gain");
  const std::vector<VariedRun> runs = find_varied_crossovers(
      values["CONFIG"].as<std::string>(), listed(values, "set"), variations, least_gain);
  if (values.count("csv") != 0) {
    fmt::print("{}", crossover_csv(variations, runs));
    return exit_done;
  }
  const std::string gains = gain_table(variations, runs, least_gain);
  fmt::print("{}{}{}", crossover_table(variations, runs), gains.empty() ? "" : "\n", gains);
  return exit_done;
}

}  // namespace qfs
