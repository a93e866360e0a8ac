#include "sim/cli/verify_command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>

#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/report/output_folder.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

CommandLine command_line() {
  CommandLine line{
      "verify",
      "qfsim verify [--out DIR]",
      "Computes the tables and bounds of the source documents with the kernels of this "
      "program\nand prints them beside what the documents print.",
      {},
      {},
      0};
  line.options.add_options()  //
      ("out", po::value<std::string>(), "folder for total_variation.csv and verify.json");
  return line;
}

}  // namespace

int report_verification(const verify::Verification& verification,
                        const std::optional<fs::path>& folder) {
  fmt::print("{}", verify::to_text(verification));
  if (folder) {
    const bool replaces = fs::exists(*folder / "verify.json");
    write_results(*folder, verify::to_files(verification), verify_results);
    fmt::print("results in {}{}\n", folder->string(), replaces ? " (replaced)" : "");
  }
  const verify::Count count = verify::count(verification);
  if (count.disagreeing == 0) {
    return exit_done;
  }
  std::fflush(stdout);
  fmt::print(stderr, "error: {} of {} figures differ; the first: {}\n", count.disagreeing,
             count.figures, count.first);
  return exit_numerics_failed;
}

int verify_command(const Arguments& arguments) {
  OptionValues values;
  if (!parse(command_line(), arguments, values)) {
    return exit_done;
  }
  std::optional<fs::path> folder;
  if (values.count("out") != 0) {
    folder = values["out"].as<std::string>();
    check_output_folder(*folder, verify_results);
  }
  return report_verification(verify::verify_all(), folder);
}

}  // namespace qfs
