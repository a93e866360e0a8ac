#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/complaint.hpp"
#include "sim/config/presets.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view run_mark = "summary.json";
constexpr std::string_view sweep_mark = "results.csv";

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool has_results(const fs::path& folder) {
  return is_file(folder / run_mark) || is_file(folder / sweep_mark);
}

/// Of the folders beside it, or within it, that hold results, the one that was probably meant.
std::string nearest_results(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path beside = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  for (const fs::path& place : {beside, fs::path("results")}) {
    for (const auto& entry : fs::directory_iterator(place, error)) {
      if (has_results(entry.path())) {
        names.push_back(entry.path().filename().string());
      }
    }
  }
  return config::nearest_spelling(folder.filename().string(), names);
}

/// ConfigError unless results lie there.
void check_results(const fs::path& folder) {
  if (has_results(folder)) {
    return;
  }
  std::error_code error;
  const std::string given =
      config::in_quotes(folder.string()) +
      (fs::is_directory(folder, error) ? " holds no results" : " is no folder");
  config::complain(
      {"report"}, "", given,
      fmt::format("a folder with {} of qfsim run or {} of qfsim sweep", run_mark, sweep_mark),
      nearest_results(folder));
}

/// The project's own analysis/report, which stands beside a folder of presets.
fs::path find_script(const std::vector<fs::path>& configs) {
  std::string looked;
  for (const fs::path& folder : configs) {
    fs::path script = folder.parent_path() / "analysis" / "report";
    if (is_file(script)) {
      return script;
    }
    looked += (looked.empty() ? "" : ", ") + script.string();
  }
  throw RunError(
      fmt::format("the page is made by analysis/report, which is not there: {}", looked));
}

/// Runs a program with this one's streams and returns its exit status.
int run(const std::vector<std::string>& words) {
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  arguments.reserve(copies.size() + 1);
  for (std::string& word : copies) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  std::fflush(stdout);
  pid_t child = 0;
  if (const int error =
          ::posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
      error != 0) {
    throw RunError(fmt::format("cannot run {}: {}", words.front(), std::strerror(error)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      throw RunError(fmt::format("cannot wait for {}: {}", words.front(), std::strerror(errno)));
    }
  }
  if (!WIFEXITED(status)) {
    throw RunError(fmt::format("{} was ended by signal {}", words.front(), WTERMSIG(status)));
  }
  return WEXITSTATUS(status);
}

}  // namespace

int report_command(const Arguments& arguments) {
  OptionValues values;
  const CommandLine line{"report",
                         "qfsim report DIR",
                         "Writes DIR/report.html, one page of the results of a run or a sweep: "
                         "answer, tables, plots, ledger, numeric check, sources. It holds all that "
                         "it shows.",
                         {},
                         {"DIR"},
                         1};
  if (!parse(line, arguments, values)) {
    return exit_done;
  }
  const fs::path folder = values["DIR"].as<std::string>();
  check_results(folder);
  const std::vector<fs::path> configs = preset_folders(folder);
  std::vector<std::string> words{find_script(configs).string()};
  for (const fs::path& presets : configs) {
    words.insert(words.end(), {"--configs", presets.string()});
  }
  words.insert(words.end(), {"--", folder.string()});
  return run(words);
}

}  // namespace qfs
