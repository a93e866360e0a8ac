// Request traces: what a run takes from one, and every way in which one can be wrong.
#include <string>
#include <vector>

#include "sim/config/system_config.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

const std::string header = "request,arrival_us,context,tokens\n";
const std::string workload_line = "workload: {trace: trace.csv, in_flight: 2}";
constexpr std::size_t workload_at = 6;  // line of run_text

/// What loading a run on this trace complains of.
std::string complaint_of(const std::string& trace) {
  const ConfigFolder folder;
  folder.write("trace.csv", trace);
  return folder.complaint(folder.write("run.yaml", run_text(workload_at, workload_line)));
}

RunConfig load(const std::string& trace) {
  const ConfigFolder folder;
  folder.write("trace.csv", trace);
  return load_run_config(folder.write("run.yaml", run_text(workload_at, workload_line)));
}

}  // namespace

TEST_CASE("a trace gives the requests of each wave") {
  const RunConfig run = load(header + "0,0,100,1\n1,0,7000,3\n2,0.0,0,2\n");
  CHECK(run.workload.batch == 3);
  CHECK(run.workload.context == 7000);
  CHECK(run.workload.tokens == 3);
  CHECK(run.workload.request_contexts == std::vector<std::size_t>{100, 7000, 0});
  CHECK(run.workload.request_tokens == std::vector<std::size_t>{1, 3, 2});
  const SystemConfig system = system_config(run, run.block, 7000);
  CHECK(system.graph.contexts == std::vector<std::size_t>{100, 7000, 0, 100, 7000, 0});
  CHECK(system.graph.request_tokens == std::vector<std::size_t>{1, 3, 2, 1, 3, 2});
  // Further contexts have as many requests, all alike.
  CHECK(system_config(run, run.block, 50).graph.contexts == std::vector<std::size_t>(6, 50));
  CHECK(system_config(run, run.block, 50).graph.request_tokens.empty());
  // Rows at the end: 101 + 7,003 + 2 of each wave, of 28 layers and 8 heads of 128 in bf16.
  CHECK(resident_kv_bytes(run, 7000) == Bytes(2 * 7106 * 28 * 2 * 8 * 128 * 2));
}

TEST_CASE("a resolved configuration holds the trace's requests and needs no trace") {
  const RunConfig run = load(header + "0,0,100,1\r\n1,0,7000,3\r\n");
  const ConfigFolder elsewhere;
  const RunConfig again = load_run_config(elsewhere.write("run.yaml", to_yaml(run)));
  CHECK(again.workload.request_contexts == run.workload.request_contexts);
  CHECK(again.workload.request_tokens == run.workload.request_tokens);
  CHECK(to_yaml(again) == to_yaml(run));
}

TEST_CASE("the shipped traces load") {
  for (const auto& [name, requests] : std::vector<std::pair<std::string, std::size_t>>{
           {"mixed-8", 8}, {"mixed-32", 32}, {"long-tail-64", 64}}) {
    const ConfigFolder folder;
    const std::string line =
        "workload: {trace: " + test::source_dir() + "/traces/" + name + ".csv}";
    const RunConfig run = load_run_config(folder.write("run.yaml", run_text(workload_at, line)),
                                          {"numerics.mode=off"});
    CHECK(run.workload.batch == requests);
  }
}

TEST_CASE("a wrong trace is refused with its line") {
  const auto check = [](const std::string& trace, const std::string& begins,
                        const std::string& ends) {
    check_message(complaint_of(trace), begins, ends);
  };
  check("0,0,100,1\n", "trace.csv:1: '0,0,100,1'",
        "legal: request,arrival_us,context,tokens as the first line");
  check(header, "trace.csv:1: the trace holds no request",
        "legal: a line for each after the header");
  check(header + "0,0,100\n", "trace.csv:2: '0,0,100' has 3 fields",
        "legal: request,arrival_us,context,tokens");
  check(header + "0,0,100,1\n\n", "trace.csv:3: '' has 1 fields", "context,tokens");
  check(header + "0,0,100,1\n2,0,100,1\n", "trace.csv:3: request: '2'",
        "legal: 1, since requests are numbered from 0 on, in order");
  check(header + "0,5,100,1\n", "trace.csv:2: arrival_us: '5'",
        "legal: 0, since all requests of a run are there from its start");
  check(header + "0,nan,100,1\n", "trace.csv:2: arrival_us: 'nan'", "from its start");
  check(header + "0,,100,1\n", "trace.csv:2: arrival_us: ''", "from its start");
  check(header + "0,0,-1,1\n", "trace.csv:2: context: '-1'", ", in digits");
  check(header + "0,0,1e3,1\n", "trace.csv:2: context: '1e3'", ", in digits");
  check(header + "0,0,100,0\n", "trace.csv:2: tokens: '0'",
        "legal: a whole number from 1 to 4096, in digits");
  check(header + "0,0,100, 1\n", "trace.csv:2: tokens: ' 1'", ", in digits");
}

TEST_CASE("what a trace says is given nowhere else, and a missing one is told") {
  const ConfigFolder folder;
  const auto complaint = [&](const std::string& workload) {
    return folder.complaint(folder.write("run.yaml", run_text(workload_at, workload)));
  };
  check_message(complaint("workload: {trace: none.csv}"), "none.csv: no such file",
                "legal: a text file of at most 1 MiB");
  folder.write("trace.csv", header + "0,0,100,1\n");
  for (const char* key : {"batch", "context", "tokens"}) {
    check_message(
        complaint("workload: {trace: trace.csv, " + std::string(key) + ": 1}"),
        "run.yaml:6: workload." + std::string(key) + ": given, but workload.trace says it",
        "; legal: workload." + std::string(key) + " or workload.trace");
  }
  check_message(complaint("workload: {trace: trace.csv, request_tokens: [1]}"),
                "run.yaml:6: workload.request_tokens: given", " or workload.trace");
  check_message(complaint("workload: {batch: 2, tokens: 3, context: 9, request_tokens: [1, 2]}"),
                "run.yaml:6: workload.request_tokens: 2 at most",
                "; legal: workload.tokens (3) as the most of them");
  check_message(complaint("workload: {batch: 2, tokens: 3, context: 9, request_tokens: [3]}"),
                "run.yaml:6: workload.request_tokens: 1 of them",
                "; legal: one for each request of a wave, workload.batch (2)");
}

}  // namespace qfs::test
