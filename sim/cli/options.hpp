// What the commands share in reading their arguments.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace qfs {

/// The options of a command and its positional arguments. Unknown options, abbreviations and
/// missing or surplus arguments are ConfigErrors that name the command.
struct CommandLine {
  std::string command;                                  // "run"
  std::string usage;                                    // "qfsim run CONFIG [options]"
  std::string about;                                    // one sentence
  boost::program_options::options_description options;  // without --help, which every command has
  std::vector<std::string> positional;                  // names, in order
  std::size_t required_positional = 0;
};

/// Parsed values; empty when --help was asked for and has been printed.
using OptionValues = boost::program_options::variables_map;
bool parse(const CommandLine& line, const std::vector<std::string>& arguments,
           OptionValues& values);

/// Of an option that may be repeated: all values, none where it was not given.
std::vector<std::string> listed(const OptionValues& values, const char* name);
/// Of an option in percent, as a share; ConfigError unless above 0 and below 100.
double share_of(const CommandLine& line, const OptionValues& values, const char* name);

}  // namespace qfs
