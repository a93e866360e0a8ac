#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/presets.hpp"
#include "sim/sweep/sweep_folder.hpp"
#include "sim/sweep/sweep_points.hpp"
#include "sim/sweep/sweep_report.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

CommandLine command_line() {
  CommandLine line{
      "sweep",
      "qfsim sweep SWEEP [options]",
      "Simulates a run in every combination of some axes and in several variants, and says which\n"
      "variant is best where. Results are stored as they come: started again after any end, a "
      "sweep\n"
      "goes on where it was, and simulates only what has changed. sim/sweep/README.md has the "
      "keys\n"
      "of its file.\n\n"
      "On many machines, DIR on a file system that they share: each runs one shard, then one of "
      "them\nmerges:  qfsim sweep SWEEP --out DIR --shard 3/7      qfsim sweep SWEEP --out DIR "
      "--merge",
      {},
      {"SWEEP"},
      1};
  line.options.add_options()                                                               //
      ("out", po::value<std::string>(), "folder for the results (default: results/NAME)")  //
      ("jobs", po::value<std::string>(), "simulations side by side (default: the cores)")  //
      ("shard", po::value<std::string>(),
       "i/n: only part i of n, from 1/n to n/n, into DIR/shard-i-of-n.sqlite")  //
      ("merge", "put the shards in DIR together and simulate nothing")          //
      ("plot", "then draw the results as analysis/plot DIR does");
  return line;
}

std::uint64_t count_of(const std::string& text, std::uint64_t most, const std::string& complaint) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > most) {
    throw ConfigError(complaint);
  }
  return count;
}

std::size_t jobs_of(const OptionValues& values) {
  if (values.count("jobs") == 0) {
    return default_jobs();
  }
  constexpr std::uint64_t most = 1024;
  const auto& text = values["jobs"].as<std::string>();
  return static_cast<std::size_t>(count_of(
      text, most, fmt::format("--jobs {}; legal: a whole number from 1 to {}", text, most)));
}

Shard shard_of(const OptionValues& values) {
  if (values.count("shard") == 0) {
    return {};
  }
  const auto& text = values["shard"].as<std::string>();
  const std::string complaint = fmt::format(
      "--shard {}; legal: i/n, i from 1 to n, as in 3/7; n at most {}", text, most_points);
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw ConfigError(complaint);
  }
  const std::uint64_t count = count_of(text.substr(slash + 1), most_points, complaint);
  return {count_of(text.substr(0, slash), count, complaint), count};
}

/// analysis/plot of the project whose presets serve the sweep.
fs::path plot_program(const SweepConfig& config) {
  for (const fs::path& configs : preset_folders(config.run)) {
    fs::path program = configs.parent_path() / "analysis" / "plot";
    if (::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  throw RunError("no plots: there is no analysis/plot beside the presets");
}

/// False where the program has said why it could not; the results are there in any case.
bool plot(const SweepConfig& config, const fs::path& folder) {
  const fs::path program = plot_program(config);
  std::fflush(nullptr);
  constexpr int cannot_start = 127;
  const pid_t process = fork();
  if (process == 0) {
    ::execl(program.c_str(), program.c_str(), folder.c_str(), static_cast<char*>(nullptr));
    _exit(cannot_start);
  }
  int status = 0;
  if (process < 0 || waitpid(process, &status, 0) < 0 || !WIFEXITED(status) ||
      WEXITSTATUS(status) == cannot_start) {
    throw RunError(
        fmt::format("no plots: {} does not start; the results are complete", program.string()));
  }
  return status == 0;
}

int status_of(const SweepResult& result) {
  const auto count = [&result](const auto& is) {
    return std::count_if(result.points.begin(), result.points.end(), is);
  };
  const auto wrong = count([](const SweepPoint& point) {
    return point.figures.errors && !point.figures.errors->failure.empty();
  });
  const auto failed =
      count([](const SweepPoint& point) { return point.status == PointStatus::failed; });
  std::fflush(stdout);
  if (wrong > 0) {
    fmt::print(stderr, "error: the numeric check failed at {} of {} points\n", wrong,
               result.points.size());
    return exit_numerics_failed;
  }
  if (failed > 0) {
    fmt::print(stderr, "error: the run failed at {} of {} points\n", failed, result.points.size());
    return exit_run_failed;
  }
  return exit_done;
}

int simulate_shard(const SweepConfig& config, const fs::path& folder, const Shard& shard,
                   std::size_t jobs) {
  ResultStore store(shard_store(folder, shard));
  write_whole(folder / "sweep.yaml", config.text);
  const SweepTally tally = simulate_sweep(config, store, shard, jobs);
  fmt::print("shard {}: {} points in {}\n", shard.text(), tally.points,
             shard_store(folder, shard).string());
  return exit_done;
}

/// The whole sweep into the folder, from its shards if there are any.
SweepResult complete(const SweepConfig& config, const fs::path& folder, const Shards& shards,
                     std::size_t jobs) {
  ResultStore store(sweep_store(folder));
  write_whole(folder / "sweep.yaml", config.text);
  if (!shards.empty()) {
    merge_shards(config, folder, shards, store);
  } else {
    simulate_sweep(config, store, {}, jobs);
  }
  return stored_result(config, store);
}

}  // namespace

int sweep_command(const Arguments& arguments) {
  OptionValues values;
  if (!parse(command_line(), arguments, values)) {
    return exit_done;
  }
  const bool merge = values.count("merge") != 0;
  if (values.count("shard") != 0 && (merge || values.count("plot") != 0)) {
    throw ConfigError("--shard: with --merge or --plot; legal: the shards first, then --merge");
  }
  const Shard shard = shard_of(values);
  const std::size_t jobs = jobs_of(values);
  const SweepConfig config = load_sweep_config(values["SWEEP"].as<std::string>());
  const fs::path folder = values.count("out") != 0 ? fs::path(values["out"].as<std::string>())
                                                   : fs::path("results") / config.name;
  check_sweep_folder(folder);
  check_points(config);
  const Shards shards = merge ? open_shards(config, folder) : Shards{};
  make_sweep_folder(folder);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error of writing like a full disk
  if (values.count("shard") != 0) {
    return simulate_shard(config, folder, shard, jobs);
  }
  const SweepResult result = complete(config, folder, shards, jobs);
  const std::string table = sweep_table(result);
  write_whole(folder / "results.csv", results_csv(result));
  write_whole(folder / "best.txt", table);
  fmt::print("{}\nresults in {}\n", table, folder.string());
  const bool plotted = values.count("plot") == 0 || plot(config, folder);
  const int status = status_of(result);
  return status == exit_done && !plotted ? exit_run_failed : status;
}

}  // namespace qfs
