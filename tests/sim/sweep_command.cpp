// What `qfsim sweep` does where it cannot do what it was asked for.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "sim/sweep/result_store.hpp"
#include "tests/sim/sweep_program.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {

TEST_CASE("a full disk is one error, what was stored stays, and the sweep goes on afterwards") {
  const Scratch scratch;
  const std::string file = write_sweep(scratch);
  REQUIRE(sweep(file, scratch / "whole").status == 0);
  // A limit on the size of files, in KiB, which writing meets as it meets a full disk.
  for (const int kibibytes : {1, 8, 16, 24, 40}) {
    CAPTURE(kibibytes);
    const fs::path folder = scratch / fmt::format("full{}", kibibytes);
    const Outcome outcome = shell(fmt::format("ulimit -f {}; {} sweep {} --out {} 2>&1 >/dev/null",
                                              kibibytes, test::program(), file, folder.string()));
    CAPTURE(outcome.text);
    CHECK(outcome.status == 1);
    CHECK(outcome.text.find("error: cannot write " + folder.string()) != std::string::npos);
    CHECK_FALSE(fs::exists(folder / "results.csv"));
    REQUIRE(sweep(file, folder).status == 0);
    CHECK(results(folder) == results(scratch / "whole"));
  }
}

TEST_CASE("a folder that cannot be written or holds other things is one error") {
  const Scratch scratch;
  const std::string file = write_sweep(scratch);
  fs::create_directory(scratch / "notes");
  std::ofstream(scratch / "notes" / "notes.txt") << "mine";
  std::ofstream(scratch / "file") << "mine";
  for (const std::string folder : {"notes", "file", "file/below"}) {
    const Outcome outcome = sweep(file, scratch / folder);
    CAPTURE(outcome.text);
    CHECK(outcome.status == 2);
    CHECK(outcome.text.starts_with("error: results folder "));
    CHECK(std::count(outcome.text.begin(), outcome.text.end(), '\n') == 1);
  }
  const Outcome proc = sweep(file, "/proc/results");  // where nobody may make a folder
  CHECK(proc.status == 2);
  CHECK(proc.text.starts_with("error: results folder /proc/results: cannot be written: "));
}

TEST_CASE("two sweeps into one folder at a time: the second says so") {
  const Scratch scratch;
  const std::string file = write_sweep(scratch);
  REQUIRE(sweep(file, scratch / "out").status == 0);
  const ResultStore held(scratch / "out" / "store.sqlite");
  const Outcome outcome = sweep(file, scratch / "out");
  CHECK(outcome.status == 1);
  CHECK(outcome.text == "error: " + (scratch / "out" / "store.sqlite").string() +
                            " is in use by another process\n");
}

TEST_CASE("without matplotlib --plot says so in one line, and the results are there") {
  const Scratch scratch;
  const std::string file = write_sweep(scratch);
  fs::create_directory(scratch / "python");
  std::ofstream(scratch / "python" / "matplotlib.py")
      << "raise ModuleNotFoundError('none here', name='matplotlib')\n";
  const Outcome outcome = shell(fmt::format(
      "PYTHONPATH={} {} sweep {} --out {} --plot 2>&1 >/dev/null | grep -v ' at a time'",
      (scratch / "python").string(), test::program(), file, (scratch / "out").string()));
  CAPTURE(outcome.text);
  CHECK(outcome.text.starts_with("plot: "));
  CHECK(outcome.text.find("lacks matplotlib") != std::string::npos);
  CHECK(std::count(outcome.text.begin(), outcome.text.end(), '\n') == 1);
  CHECK(fs::exists(scratch / "out" / "results.csv"));
}

TEST_CASE("bad arguments of qfsim sweep end with 2 and write nothing") {
  const Scratch scratch;
  const std::string file = write_sweep(scratch);
  for (const std::string bad :
       {"--jobs 0", "--jobs -1", "--jobs two", "--jobs 1025", "--shard 3", "--shard 0/3",
        "--shard 4/3", "--shard 1/0", "--shard 1/3/5", "--shard a/b", "--shard 1/2 --merge",
        "--shard 1/2 --plot", "--parallel 3"}) {
    const Outcome outcome = sweep(file, scratch / "out", bad);
    CAPTURE(bad, outcome.text);
    CHECK(outcome.status == 2);
    CHECK(outcome.text.starts_with("error: "));
    CHECK(std::count(outcome.text.begin(), outcome.text.end(), '\n') == 1);
    CHECK_FALSE(fs::exists(scratch / "out"));
  }
}

}  // namespace qfs::test
