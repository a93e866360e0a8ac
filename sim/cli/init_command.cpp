#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/presets.hpp"

namespace qfs {

int init_command(const Arguments& arguments) {
  OptionValues values;
  const CommandLine line{"init",
                         "qfsim init [FILE]",
                         "Writes a commented run file to start from (default: run.yaml).",
                         {},
                         {"FILE"},
                         0};
  if (!parse(line, arguments, values)) {
    return exit_done;
  }
  const std::filesystem::path file =
      values.count("FILE") != 0 ? values["FILE"].as<std::string>() : "run.yaml";
  if (std::filesystem::exists(file)) {
    throw ConfigError(fmt::format("qfsim init: {} exists and is left as it is; name another file",
                                  file.string()));
  }
  std::ofstream stream(file);
  stream << init_template();
  stream.close();
  if (!stream) {
    throw ConfigError(fmt::format("qfsim init: {} cannot be written", file.string()));
  }
  fmt::print("wrote {}; next: qfsim run {}\n", file.string(), file.string());
  return exit_done;
}

}  // namespace qfs
