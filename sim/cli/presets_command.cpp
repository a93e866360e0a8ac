#include <fmt/format.h>

#include "base/error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/presets.hpp"

namespace qfs {
namespace {

void list_presets() {
  for (const auto& [kind, folder] : enum_names<PresetKind>) {
    fmt::print("{}:\n", folder);
    for (const std::string& name : preset_names(kind)) {
      fmt::print("  {}\n", name);
    }
  }
  fmt::print("\nqfsim presets show NAME prints one, with the source of each number\n");
}

}  // namespace

int presets_command(const Arguments& arguments) {
  OptionValues values;
  const CommandLine line{"presets",
                         "qfsim presets [show NAME]",
                         "Lists the shipped presets, or prints one of them.",
                         {},
                         {"show", "NAME"},
                         0};
  if (!parse(line, arguments, values)) {
    return exit_done;
  }
  if (values.count("show") == 0) {
    list_presets();
    return exit_done;
  }
  if (values["show"].as<std::string>() != "show" || values.count("NAME") == 0) {
    throw ConfigError(fmt::format("qfsim presets: usage: {}", line.usage));
  }
  fmt::print("{}", preset_text(values["NAME"].as<std::string>()));
  return exit_done;
}

}  // namespace qfs
