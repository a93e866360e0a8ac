#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/sensitivity/sensitivity.hpp"

namespace qfs {
namespace {

namespace po = boost::program_options;

CommandLine command_line() {
  CommandLine line{
      "sensitivity",
      "qfsim sensitivity CONFIG [--vary key.path=value,value...]... [--set key.path=value]... "
      "[--move PERCENT] [--gain PERCENT] [--csv]",
      "Moves every number of the devices and of the link, one at a time, and says what the block "
      "then gains over standard; and up to which latency of the link it gains so much.",
      {},
      {"CONFIG"},
      1};
  line.options.add_options()  //
      ("vary", po::value<std::vector<std::string>>()->composing(),
       "do so for each of these values of a key; several: in every combination")  //
      ("set", po::value<std::vector<std::string>>()->composing(),
       "override a key of CONFIG; may be repeated")                                             //
      ("move", po::value<double>()->default_value(20), "percent less and more of each number")  //
      ("gain", po::value<double>()->default_value(5),
       "percent: the gain that counts, for the largest latency")  //
      ("csv", "print comma-separated values instead of a table");
  return line;
}

}  // namespace

int sensitivity_command(const Arguments& arguments) {
  OptionValues values;
  if (!parse(command_line(), arguments, values)) {
    return exit_done;
  }
  const double by = share_of(command_line(), values, "move");
  const double gain = share_of(command_line(), values, "gain");
  const std::vector<Variation> variations = parse_variations(listed(values, "vary"));
  const std::vector<SensitivityStudy> studies = study_sensitivities(
      load_varied(values["CONFIG"].as<std::string>(), listed(values, "set"), variations), by, gain);
  fmt::print("{}", values.count("csv") != 0 ? sensitivity_csv(variations, studies, by, gain)
                                            : sensitivity_table(variations, studies, by, gain));
  return exit_done;
}

}  // namespace qfs
