#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/config/complaint.hpp"

namespace qfs {
namespace {

struct Command {
  std::string_view name;
  int (*run)(const Arguments&);
  std::string_view about;
};

constexpr std::array<Command, 11> commands{{
    {"init", init_command, "write a commented run file to start from"},
    {"run", run_command, "simulate a run file: numbers, times, crossovers"},
    {"sweep", sweep_command, "time a run over axes and variants: which is best where"},
    {"crossover", crossover_command, "find the contexts at which the sweep stops hiding"},
    {"sensitivity", sensitivity_command,
     "move each number of the hardware: what the gain hangs on"},
    {"estimate", estimate_command, "count MACs, accesses, bytes and times without simulating"},
    {"memory", memory_command, "characterise a memory alone: time, bandwidth, latency"},
    {"calibrate", calibrate_command, "fit a device to measured kernels, or evaluate a fit"},
    {"presets", presets_command, "list the shipped models, devices, links and memories"},
    {"verify", verify_command, "compare the kernels with the source documents' tables and bounds"},
    {"report", report_command, "make one page of a run's or a sweep's results"},
}};

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) {
    names.emplace_back(command.name);
  }
  return names;
}

void print_usage() {
  fmt::print(
      "qfsim: two-accelerator LLM decode, simulated\n\nUsage: qfsim COMMAND [arguments]\n\n");
  for (const Command& command : commands) {
    fmt::print("  {:<11} {}\n", command.name, command.about);
  }
  fmt::print(
      "\nqfsim COMMAND --help says more. Exit status: 0 done, 1 the run failed, 2 usage or\n"
      "configuration, 3 the numeric check or `verify` failed.\n");
}

int run_command_named(const Arguments& arguments) {
  if (arguments.empty()) {
    throw ConfigError(fmt::format("qfsim: no command given; legal: {}; see qfsim --help",
                                  fmt::join(command_names(), ", ")));
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_usage();
    return exit_done;
  }
  for (const Command& command : commands) {
    if (command.name == name) {
      return command.run({arguments.begin() + 1, arguments.end()});
    }
  }
  const std::vector<std::string> names = command_names();
  const std::string near = config::nearest_spelling(name, names);
  throw ConfigError(fmt::format("qfsim: unknown command '{}'; legal: {}{}", name,
                                fmt::join(names, ", "),
                                near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

int report_error(const std::exception& error, int status) {
  std::fflush(stdout);
  fmt::print(stderr, "error: {}\n", error.what());
  return status;
}

}  // namespace

int run_program(const Arguments& arguments) {
  try {
    return run_command_named(arguments);
  } catch (const ConfigError& error) {
    return report_error(error, exit_usage);
  } catch (const std::exception& error) {
    return report_error(error, exit_run_failed);
  }
}

}  // namespace qfs
