// The program as a user runs it, and the files that it leaves.
#pragma once

#include <filesystem>
#include <string>

namespace qfs::test {

/// The folder of the checkout, and the program of this build.
std::string source_dir();
std::string program();

struct Outcome {
  int status = -1;
  std::string text;  // stdout, or what `streams` makes of it
};

/// Runs a command of the shell.
Outcome shell(const std::string& command);

/// Runs `qfsim arguments`; `streams` e.g. "2>&1".
Outcome qfsim(const std::string& arguments, const std::string& streams = "2>/dev/null");

/// Of a file that has to be there.
std::string content(const std::filesystem::path& file);

}  // namespace qfs::test
