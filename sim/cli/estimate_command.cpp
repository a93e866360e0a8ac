#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/load.hpp"
#include "sim/estimate/module_report.hpp"
#include "sim/estimate/run_report.hpp"

namespace qfs {
namespace {

namespace po = boost::program_options;

CommandLine command_line() {
  CommandLine line{
      "estimate",
      "qfsim estimate RUN.yaml | --module KIND|FILE.yaml [--set key=value]... [options]",
      "Counts without simulating. Of a run file: MACs, logical accesses, bytes, roofline and "
      "closed-form\ntimes of every operation, layer and step. Of a native PyTorch module and one "
      "call to it: MACs,\nlogical accesses and token dependencies. What has no formula is "
      "diagnosed.\n\n"
      "KIND: attention, feed_forward, norm, encoder_layer, decoder_layer, encoder, decoder,\n"
      "transformer. A FILE.yaml gives it as `module: KIND`, and the other keys beside it.\n\n"
      "  qfsim estimate configs/runs/quickstart.yaml --json\n"
      "  qfsim estimate --module attention --keys\n"
      "  qfsim estimate --module attention --set embed_dim=4 --set heads=2 --set target_length=3",
      {},
      {"RUN"},
      0};
  line.options.add_options()  //
      ("module", po::value<std::string>(), "a kind of module, or the file of one")(
          "set", po::value<std::vector<std::string>>()->composing(),
          "override or give a key, e.g. --set workload.context='16 Ki'; may be repeated")  //
      ("keys", "with --module KIND: print its keys and stop")                              //
      ("json", "print one JSON object")                                                    //
      ("strict", "exit with status 1 if anything is unavailable");
  return line;
}

int print(const OptionValues& values, const std::string& text, const std::string& json,
          bool complete) {
  fmt::print("{}", values.count("json") != 0 ? json : text);
  return complete || values.count("strict") == 0 ? exit_done : exit_run_failed;
}

int estimate_module(const OptionValues& values, const std::vector<std::string>& overrides) {
  const std::string name = values["module"].as<std::string>();
  if (values.count("keys") != 0) {
    fmt::print("{}", estimate::module_keys_text(name));
    return exit_done;
  }
  const estimate::ModuleReport report =
      estimate::module_report(estimate::load_module(name, overrides));
  return print(values, report.text, report.json, report.complete);
}

int estimate_run(const OptionValues& values, const std::vector<std::string>& overrides) {
  const RunConfig config = load_run_config(values["RUN"].as<std::string>(), overrides);
  const estimate::RunEstimate estimate = estimate::run_estimate(config);
  const bool complete =
      estimate.not_counted.empty() &&
      std::all_of(estimate.points.begin(), estimate.points.end(),
                  [](const estimate::PointEstimate& point) { return point.decode.has_value(); });
  return print(values, run_text(config, estimate), run_json(config, estimate), complete);
}

}  // namespace

int estimate_command(const Arguments& arguments) {
  OptionValues values;
  if (!parse(command_line(), arguments, values)) {
    return exit_done;
  }
  const bool module = values.count("module") != 0;
  if (module == (values.count("RUN") != 0)) {
    throw ConfigError(
        fmt::format("qfsim estimate: {}; legal: one of them; see qfsim estimate "
                    "--help",
                    module ? "both RUN.yaml and --module are given"
                           : "neither RUN.yaml nor --module is given"));
  }
  if (!module && values.count("keys") != 0) {
    throw ConfigError("qfsim estimate: --keys needs --module KIND; see qfsim estimate --help");
  }
  const std::vector<std::string> overrides = listed(values, "set");
  return module ? estimate_module(values, overrides) : estimate_run(values, overrides);
}

}  // namespace qfs
