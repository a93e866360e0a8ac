#include "tests/support/program.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "tests/support/catch.hpp"

namespace qfs::test {

std::string source_dir() { return QFS_SOURCE_DIR; }

std::string program() { return QFSIM_BINARY; }

Outcome shell(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.text.append(buffer.data(), count);
  }
  outcome.status = WEXITSTATUS(pclose(pipe));
  return outcome;
}

Outcome qfsim(const std::string& arguments, const std::string& streams) {
  return shell(program() + " " + arguments + " " + streams);
}

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace qfs::test
