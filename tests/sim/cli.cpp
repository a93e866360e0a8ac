// The program as a user runs it: exit status, what is written and what is not, and the same bytes
// twice.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/sim/scratch.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;

using test::content;
using test::Outcome;
using test::qfsim;
using test::Scratch;

const std::string small_run = R"(name: small
model: {name: small, hidden: 32, layers: 3, heads: 4, kv_heads: 2, head_dim: 8, ffn: 48, vocab: 64, qk_norm: true}
block: early_q
compare: [standard, swapped]
arrangement: two_device
workload: {batch: 2, context: 40, tokens: 3, contexts: [0, 1, 1 Ki]}
compute_device: {preset: ideal, bandwidth: 1 GB/s, launch_overhead: 1 us}
cache_device: {preset: ideal, bandwidth: 1 GB/s, launch_overhead: 1 us}
link: {latency: 2 us, bandwidth: 10 GB/s}
)";

fs::path write_run(const Scratch& scratch, const std::string& text = small_run) {
  const fs::path file = scratch / "run.yaml";
  std::ofstream(file) << text;
  return file;
}

std::string run_arguments(const fs::path& file, const fs::path& out, const std::string& more = "") {
  return "run " + file.string() + " --out " + out.string() + " " + more;
}

const std::vector<std::string> result_files{"summary.json", "operations.csv", "numerics.json",
                                            "timeline.json", "config.yaml"};

}  // namespace

TEST_CASE("a run ends with status 0, says PASS and leaves all its files") {
  const Scratch scratch;
  const fs::path file = write_run(scratch);
  const Outcome outcome = qfsim(run_arguments(file, scratch / "out"));
  CHECK(outcome.status == 0);
  CHECK(outcome.text.find("PASS") != std::string::npos);
  for (const std::string& name : result_files) {
    CHECK(fs::file_size(scratch / "out" / name) > 0);
  }
  CHECK(scratch.entries() == 2);
}

TEST_CASE("the same configuration gives the same bytes, and so does its resolved form") {
  const Scratch scratch;
  const fs::path file = write_run(scratch);
  const Outcome first = qfsim(run_arguments(file, scratch / "a"));
  REQUIRE(first.status == 0);
  REQUIRE(qfsim(run_arguments(file, scratch / "b")).status == 0);
  REQUIRE(qfsim(run_arguments(scratch / "a" / "config.yaml", scratch / "c")).status == 0);
  for (const std::string& name : result_files) {
    CHECK(content(scratch / "a" / name) == content(scratch / "b" / name));
    CHECK(content(scratch / "a" / name) == content(scratch / "c" / name));
  }
}

TEST_CASE("summary.json says what operations.csv says") {
  const Scratch scratch;
  REQUIRE(qfsim(run_arguments(write_run(scratch), scratch / "out")).status == 0);
  const auto summary = nlohmann::json::parse(content(scratch / "out" / "summary.json"));
  std::istringstream csv(content(scratch / "out" / "operations.csv"));
  std::string line;
  REQUIRE(std::getline(csv, line));
  std::map<std::string, std::size_t> column;
  std::istringstream header(line);
  for (std::string name; std::getline(header, name, ',');) {
    column.emplace(name, column.size());
  }
  std::map<std::size_t, double> last_end;     // of any row, by result
  std::map<std::size_t, double> last_output;  // of what the steps wait for
  while (std::getline(csv, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) {
      cells.push_back(cell);
    }
    const std::size_t result = std::stoul(cells.at(column.at("result")));
    const double end = std::stod(cells.at(column.at("end_us")));
    const std::string& kind = cells.at(column.at("kind"));
    last_end[result] = std::max(last_end[result], end);
    if (kind != "append" && kind != "message") {
      last_output[result] = std::max(last_output[result], end);
    }
  }
  const auto& results = summary.at("results");
  REQUIRE(results.size() == 4 * 3);
  REQUIRE(last_end.size() == results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    double total = 0;
    for (const double step : results[i].at("step_times_us")) {
      total += step;
    }
    CHECK(last_output[i] == Approx(total).epsilon(1e-12));
    CHECK(last_end[i] == Approx(results[i].at("drained_us").get<double>()).epsilon(1e-12));
    CHECK(results[i].at("closed_form").at("agrees") == true);
  }
}

TEST_CASE("a failed numeric check ends with status 3 and names the layer and the operation") {
  const Scratch scratch;
  const fs::path file = write_run(scratch);
  struct Case {
    std::string fault;
    std::string operation;
  };
  for (const Case& c : {Case{"drop_edge", "ffn"},
                        {"alter_in_flight", "sweep"},
                        {"swap_kv", "append"},
                        {"skip_position", "sweep"},
                        {"wrong_weights", "ffn"}}) {
    const Outcome outcome = qfsim(
        run_arguments(file, scratch / c.fault,
                      "--set numerics.inject.fault=" + c.fault + " --set numerics.inject.layer=1"));
    CAPTURE(c.fault, outcome.text);
    CHECK(outcome.status == 3);
    CHECK(outcome.text.find("FAIL") != std::string::npos);
    CHECK(outcome.text.find("first failure " + c.operation + " at layer 1") != std::string::npos);
    CHECK(outcome.text.find("NUMBERS FAILED") != std::string::npos);
    CHECK(fs::exists(scratch / c.fault / "numerics.json"));
  }
}

TEST_CASE("a failed numeric check is one line on stderr") {
  const Scratch scratch;
  const fs::path file = write_run(scratch);
  const Outcome outcome = qfsim(
      run_arguments(file, scratch / "out",
                    "--set numerics.inject.fault=skip_position --set numerics.inject.layer=1"),
      "2>&1 >/dev/null");
  CHECK(outcome.status == 3);
  const std::size_t at = outcome.text.find("error: ");  // after the stages of the run
  REQUIRE(at != std::string::npos);
  const std::string line = outcome.text.substr(at);
  CAPTURE(line);
  CHECK(std::count(line.begin(), line.end(), '\n') == 1);
  CHECK(line.starts_with("error: the numeric check failed: early_q: sweep at layer 1, step 0"));
  CHECK(line.ends_with(", request 0, which did not see cached position 39\n"));
}

TEST_CASE("a sweep with a point of wrong numbers ends with 3 and keeps its results") {
  const Scratch scratch;
  write_run(scratch);
  const fs::path file = scratch / "sweep.yaml";
  std::ofstream(file) << "name: wrong\nrun: run.yaml\nnumerics: on\n"
                         "axes: {workload.context: [40]}\nvariants:\n  right: {block: early_q}\n"
                         "  wrong: {block: early_q, numerics.inject.fault: skip_position}\n";
  const Outcome outcome =
      qfsim("sweep " + file.string() + " --out " + (scratch / "out").string(), "2>&1");
  CAPTURE(outcome.text);
  CHECK(outcome.status == 3);
  CHECK(outcome.text.find("error: the numeric check failed at 1 of 2 points\n") !=
        std::string::npos);
  CHECK(fs::exists(scratch / "out" / "results.csv"));
}

TEST_CASE("a run says whether it replaced earlier results") {
  const Scratch scratch;
  const std::string arguments = run_arguments(write_run(scratch), scratch / "out",
                                              "--set numerics.mode=off --set workload.contexts=[]");
  CHECK(qfsim(arguments).text.find("(replaced)") == std::string::npos);
  CHECK(qfsim(arguments).text.find("results in " + (scratch / "out").string() + " (replaced)\n") !=
        std::string::npos);
}

TEST_CASE("a configuration error ends with status 2, one line, and writes nothing") {
  const Scratch scratch;
  const fs::path file = write_run(scratch);
  for (const std::string bad :
       {"--set workload.contxt=4", "--set link.latency=5", "--set block=early", "--set numerics",
        "--frob", "--ou elsewhere", "--set compute_device.capacity='1 KiB'"}) {
    const Outcome outcome =
        qfsim("run " + file.string() + " --out " + (scratch / "out").string() + " " + bad,
              "2>&1 >/dev/null");
    CAPTURE(bad, outcome.text);
    CHECK(outcome.status == 2);
    CHECK(std::count(outcome.text.begin(), outcome.text.end(), '\n') == 1);
    CHECK(outcome.text.rfind("error: ", 0) == 0);
    CHECK(!fs::exists(scratch / "out"));
  }
  CHECK(scratch.entries() == 1);
}

TEST_CASE("usage errors: no command, an unknown one, a missing file, an unknown preset") {
  for (const std::string bad :
       {"", "rnu", "run", "run /nonexistent/run.yaml", "presets show qwen3-0.6", "run a b c"}) {
    const Outcome outcome = qfsim(bad, "2>&1 >/dev/null");
    CAPTURE(bad, outcome.text);
    CHECK(outcome.status == 2);
    CHECK(std::count(outcome.text.begin(), outcome.text.end(), '\n') == 1);
  }
  CHECK(qfsim("rnu", "2>&1").text.find("did you mean 'run'?") != std::string::npos);
}

TEST_CASE("run --check prints the resolved configuration and writes nothing") {
  const Scratch scratch;
  const fs::path file = write_run(scratch);
  const Outcome outcome = qfsim(run_arguments(file, scratch / "out", "--check"));
  CHECK(outcome.status == 0);
  CHECK(outcome.text.find("workload:") != std::string::npos);
  CHECK(!fs::exists(scratch / "out"));
}

TEST_CASE("an output folder of somebody else's is refused before the run") {
  const Scratch scratch;
  const fs::path file = write_run(scratch);
  fs::create_directories(scratch / "mine");
  std::ofstream(scratch / "mine" / "thesis.tex") << "precious";
  const Outcome outcome = qfsim(run_arguments(file, scratch / "mine"), "2>&1");
  CHECK(outcome.status == 2);
  CHECK(content(scratch / "mine" / "thesis.tex") == "precious");
  CHECK(qfsim(run_arguments(file, file / "below-a-file"), "2>&1").status == 2);
}

TEST_CASE("init writes a run that runs, and leaves an existing file alone") {
  const Scratch scratch;
  const fs::path file = scratch / "mine.yaml";
  REQUIRE(qfsim("init " + file.string()).status == 0);
  const std::string text = content(file);
  CHECK(qfsim(run_arguments(file, scratch / "out",
                            "--set numerics.mode=off --set workload.contexts=[]"))
            .status == 0);
  CHECK(qfsim("init " + file.string()).status == 2);
  CHECK(content(file) == text);
}

TEST_CASE("help and presets print to stdout and end with status 0") {
  for (const std::string arguments : {"--help", "run --help", "init --help", "presets --help",
                                      "presets", "presets show nvlink4"}) {
    const Outcome outcome = qfsim(arguments);
    CAPTURE(arguments);
    CHECK(outcome.status == 0);
    CHECK(outcome.text.size() > 40);
  }
}

TEST_CASE("colocated, append_first, fp32 and context 0 run and pass") {
  const Scratch scratch;
  const fs::path file = write_run(scratch);
  CHECK(qfsim(run_arguments(file, scratch / "a", "--set current_token=append_first")).status == 0);
  CHECK(qfsim(run_arguments(file, scratch / "b", "--set workload.context=0")).status == 0);
  CHECK(qfsim(run_arguments(file, scratch / "c",
                            "--set numerics.kv_dtype=fp32 --set numerics.wire_dtype=fp32"))
            .status == 0);
  CHECK(qfsim(run_arguments(file, scratch / "d", "--set workload.lm_head=false")).status == 0);
  std::string colocated = small_run.substr(0, small_run.find("cache_device:"));
  colocated.replace(colocated.find("two_device"), 10, "colocated");
  const fs::path other = scratch / "colocated.yaml";
  std::ofstream(other) << colocated;
  CHECK(qfsim(run_arguments(other, scratch / "e")).status == 0);
}

}  // namespace qfs
