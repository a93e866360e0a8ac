#include "sim/cli/options.hpp"

#include <fmt/format.h>

#include <iostream>

#include "base/error.hpp"

namespace qfs {
namespace {

namespace po = boost::program_options;

void print_help(const CommandLine& line, const po::options_description& options) {
  std::cout << "Usage: " << line.usage << "\n\n" << line.about << "\n\n" << options;
}

}  // namespace

bool parse(const CommandLine& line, const std::vector<std::string>& arguments,
           OptionValues& values) {
  po::options_description visible("Options");
  visible.add(line.options);
  visible.add_options()("help,h", "print this and stop");
  po::options_description all;
  all.add(visible);
  po::positional_options_description positional;
  for (const std::string& name : line.positional) {
    all.add_options()(name.c_str(), po::value<std::string>());
    positional.add(name.c_str(), 1);
  }
  namespace style = po::command_line_style;
  try {
    // No guessing: an abbreviation that matches today may mean something else tomorrow.
    po::store(po::command_line_parser(arguments)
                  .options(all)
                  .positional(positional)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    throw ConfigError(
        fmt::format("qfsim {}: {}; see qfsim {} --help", line.command, error.what(), line.command));
  }
  if (values.count("help") != 0) {
    print_help(line, visible);
    return false;
  }
  for (std::size_t i = 0; i < line.required_positional; ++i) {
    if (values.count(line.positional[i]) == 0) {
      throw ConfigError(fmt::format("qfsim {}: {} is missing; usage: {}", line.command,
                                    line.positional[i], line.usage));
    }
  }
  return true;
}

std::vector<std::string> listed(const OptionValues& values, const char* name) {
  return values.count(name) != 0 ? values[name].as<std::vector<std::string>>()
                                 : std::vector<std::string>{};
}

double share_of(const CommandLine& line, const OptionValues& values, const char* name) {
  const double share = values[name].as<double>() / 100;
  if (!(share > 0 && share < 1)) {
    throw ConfigError(
        fmt::format("qfsim {}: --{}: legal: percent above 0 and below 100", line.command, name));
  }
  return share;
}

}  // namespace qfs
