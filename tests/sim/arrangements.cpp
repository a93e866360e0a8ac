// The arrangements as a user runs them: the shipped examples with real numbers, the crossovers that
// DESIGN.md 7 states, and what a run says about its devices.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "sim/run/crossover_search.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/sim/scratch.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// What a run printed and left.
struct Results {
  std::string text;
  Json summary;
  std::string csv;
};

Results run_program(const fs::path& file, const Scratch& scratch, const std::string& more = "") {
  const fs::path out = scratch / "out";
  const Outcome outcome = qfsim("run " + file.string() + " --out " + out.string() + " " + more);
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  return {outcome.text, Json::parse(content(out / "summary.json")),
          content(out / "operations.csv")};
}

/// With numbers that hold and a closed form that agrees at every point.
Results run_example(const std::string& name, const std::string& more = "") {
  const Scratch scratch;
  const Results outcome =
      run_program(fs::path(test::source_dir()) / "configs/runs" / (name + ".yaml"), scratch, more);
  INFO(outcome.text);
  CHECK(outcome.text.find("Numbers: PASS") != std::string::npos);
  for (const Json& result : outcome.summary["results"]) {
    INFO(result["block"] << " at " << result["context"]);
    REQUIRE(result["closed_form"].is_object());
    CHECK(result["closed_form"]["agrees"] == true);
    CHECK(result["roofline"]["share"].get<double>() <= 1 + 1e-9);
    CHECK(result["roofline"]["share"].get<double>() > 0);
  }
  return outcome;
}

/// Values of a column of operations.csv.
std::set<std::string> column(const std::string& csv, const std::string& name) {
  std::istringstream lines(csv);
  std::string line;
  REQUIRE(std::getline(lines, line));
  std::map<std::string, std::size_t> index;
  std::istringstream header(line);
  for (std::string cell; std::getline(header, cell, ',');) {
    index.emplace(cell, index.size());
  }
  std::set<std::string> values;
  while (std::getline(lines, line)) {
    std::istringstream row(line);
    std::string cell;
    for (std::size_t i = 0; i <= index.at(name); ++i) {
      std::getline(row, cell, ',');
    }
    values.insert(cell);
  }
  return values;
}

/// DESIGN.md 7's machine with a pool, two layers.
RunConfig pooled_run(const std::string& model, const std::string& latency) {
  const ConfigFolder folder;
  return load_run_config(folder.write(
      "run.yaml", "name: a\nmodel: {preset: " + model +
                      ", layers: 2}\nblock: early_q\narrangement: pooled\naccounting: "
                      "weights_and_sweep\nworkload: {context: 16}\ncompute_device: ideal\n"
                      "cache_device: ideal\nlink: {latency: " +
                      latency + "}\nnumerics: {mode: off}\n"));
}

void check_pooled_crossovers(const RunConfig& run, double ffn, double busy, double latency) {
  const std::vector<Crossover> found = find_crossovers(run);
  REQUIRE(found.size() == 3);
  const std::map<CrossoverKind, double> stated{
      {CrossoverKind::ffn, ffn}, {CrossoverKind::busy, busy}, {CrossoverKind::latency, latency}};
  for (const Crossover& crossover : found) {
    CAPTURE(name_of(crossover.kind));
    CHECK(crossover.state == CrossoverState::found);
    CHECK(crossover.simulated == Approx(stated.at(crossover.kind)).margin(1e-3));
    REQUIRE(crossover.closed_form);
    CHECK(*crossover.closed_form == Approx(stated.at(crossover.kind)).margin(1e-3));
  }
}

}  // namespace

TEST_CASE("pooled crossovers are those of the design document") {
  check_pooled_crossovers(pooled_run("qwen3-0.6b", "0 us"), 4608, 3584, 4608);
  check_pooled_crossovers(pooled_run("qwen3-0.6b", "5 us"), 4608, 3584, 7049.40625);
  check_pooled_crossovers(pooled_run("qwen3-4b", "0 us"), 36480, 28800, 33920);
  check_pooled_crossovers(pooled_run("qwen3-4b", "5 us"), 36480, 28800, 36361.40625);
}

TEST_CASE("in full accounting the current token's row keeps the cache side busy too") {
  for (const std::size_t batch : {1U, 3U}) {
    for (const ProjectionsChoice projections :
         {ProjectionsChoice::cache_side, ProjectionsChoice::pool}) {
      RunConfig run = pooled_run("qwen3-0.6b", "5 us");
      run.accounting = Accounting::full;
      run.workload.batch = batch;
      run.pool.projections = projections;
      const std::vector<Crossover> found = find_crossovers(run);
      const auto busy = std::find_if(found.begin(), found.end(), [](const Crossover& crossover) {
        return crossover.kind == CrossoverKind::busy;
      });
      CAPTURE(batch, name_of(projections));
      REQUIRE(busy != found.end());
      REQUIRE(busy->closed_form);
      CHECK(busy->simulated == Approx(*busy->closed_form).margin(1e-3));
    }
  }
}

TEST_CASE("crossovers do not hang on how many waves share the devices") {
  RunConfig run = pooled_run("qwen3-0.6b", "5 us");
  run.workload.in_flight = 3;
  run.workload.request_contexts = {9};
  run.pool.instances = 2;
  run.pool.window = Seconds(1e-6);
  check_pooled_crossovers(run, 4608, 3584, 7049.40625);
}

TEST_CASE("split caches move the crossover") {
  const ConfigFolder folder;
  const auto crossovers = [&](const std::string& split) {
    return find_crossovers(load_run_config(folder.write(
        "run.yaml",
        "name: a\nmodel: {preset: qwen3-0.6b, layers: 2}\nblock: early_q\n"
        "arrangement: two_device\naccounting: weights_and_sweep\nworkload: {context: 16}\n"
        "cache: {devices: 4, split: " +
            split +
            "}\ncompute_device: ideal\ncache_device: ideal\nlink: ideal\n"
            "numerics: {mode: off}\n")));
  };
  for (const char* split : {"heads", "positions"}) {
    const std::vector<Crossover> found = crossovers(split);
    REQUIRE(found.size() == 2);
    CAPTURE(split);
    // Four times those of one device: 4,608 and 5,632.
    CHECK(found[0].simulated == Approx(18432).margin(1e-3));
    CHECK(found[1].simulated == Approx(22528).margin(1e-3));
  }
  // At random the largest share decides, and it is more than a quarter.
  const std::vector<Crossover> any = crossovers("any");
  CHECK(any[1].simulated > 4608);
  CHECK(any[1].simulated < 22528);
  CHECK_FALSE(any[1].closed_form);
}

TEST_CASE("nothing overlaps, no crossover") {
  RunConfig run = pooled_run("qwen3-0.6b", "0 us");
  run.current_token = CurrentToken::append_first;
  CHECK(find_crossovers(run).empty());
  run.current_token = CurrentToken::merge;
  run.arrangement = Arrangement::tensor_parallel;
  CHECK(find_crossovers(run).empty());
  run.arrangement = Arrangement::colocated;
  CHECK(find_crossovers(run).empty());
}

TEST_CASE("the pooled example computes, agrees and finds its crossovers") {
  const Results outcome = run_example("pooled");
  CHECK(
      outcome.text.find(
          "  pool calls     1 instance, projections: cache_side\n  batching       launches ready, "
          "sweeps ready\n") != std::string::npos);
  CHECK(outcome.text.find("busy") != std::string::npos);
  const Json& first = outcome.summary["results"][0];
  CHECK(first["crossovers"]["busy_positions"].get<double>() == Approx(3584).margin(1e-3));
  CHECK(first["crossovers"]["latency_positions"].get<double>() == Approx(7049.40625).margin(1e-3));
  // DESIGN.md 7: u out and z, k, v back, 2 + 6 KiB a layer in bf16; here z and u are fp32.
  CHECK(first["traffic_first_step"]["link.to_pool"]["wire_bytes"] == 4 * 4096);
  CHECK(first["traffic_first_step"]["link.to_cache_device"]["wire_bytes"] == 4 * 8192);
  CHECK(first["t_a2f_layer_us"].get<double>() == Approx(5));
  CHECK(first["t_f2a_layer_us"].get<double>() == Approx(5));
  CHECK(outcome.summary["config"]["tensor_parallel"].is_null());
  CHECK(outcome.summary["config"]["pool"]["projections"] == "cache_side");
}

TEST_CASE("the pool may have the projections too") {
  const Results outcome = run_example("pooled", "--set pool.projections=pool");
  CHECK(outcome.text.find("1 instance, projections: pool\n") != std::string::npos);
  const Json& first = outcome.summary["results"][0];
  CHECK(first["traffic_first_step"]["cache_device"]["weight_bytes"] == 0);
  CHECK(first["traffic_first_step"]["pool"]["weight_bytes"] == 4 * (8'388'608 + 23'068'672));
}

TEST_CASE("the example of a split cache computes, agrees and shows every device") {
  const Results outcome = run_example("split-cache");
  CHECK(outcome.text.find("4 cache devices, by positions, merged in tree order, ports shared\n") !=
        std::string::npos);
  CHECK(column(outcome.csv, "shard") == std::set<std::string>{"0", "1", "2", "3"});
  const std::set<std::string> resources = column(outcome.csv, "resource");
  const Json& traffic = outcome.summary["results"][0]["traffic_all_steps"];
  std::int64_t read = 0;
  for (const char* device :
       {"cache_device_0", "cache_device_1", "cache_device_2", "cache_device_3"}) {
    CHECK(resources.contains(device));
    read += traffic[device]["kv_read_bytes"].get<std::int64_t>();
  }
  // Two requests sweep 512, 513 and 514 positions in four layers, 4 KiB each.
  CHECK(read == 2 * (512 + 513 + 514) * 4 * 4096);
  CHECK(outcome.summary["results"][0]["resident_kv_bytes"] == 2 * 515 * 4 * 4096);
}

TEST_CASE("every way to split a cache and to merge it computes and agrees") {
  for (const char* more : {"--set cache.split=heads --set cache.ports=own",
                           "--set cache.split=any --set cache.merge=arrival",
                           "--set cache.merge=fixed --set current_token=append_first"}) {
    INFO(more);
    run_example("split-cache",
                std::string("--set workload.contexts=[4097] --set crossovers=off ") + more);
  }
}

TEST_CASE("the tensor parallel example computes and agrees") {
  const Results outcome = run_example("tensor-parallel");
  CHECK(outcome.text.find("4 devices, each with 4 heads, 2 KV heads, ffn 768, vocabulary 37984") !=
        std::string::npos);
  CHECK(outcome.text.find("\nCrossovers") == std::string::npos);
  const Json& traffic = outcome.summary["results"][0]["traffic_first_step"];
  for (const char* device : {"device_0", "device_1", "device_2", "device_3"}) {
    CHECK(traffic[device]["weight_bytes"] == (8'388'608 + 23'068'672));  // a quarter of four layers
  }
  CHECK(column(outcome.csv, "kind").contains("reduce_o"));
}

TEST_CASE("the example with two waves in flight computes and agrees in every wave") {
  const Results outcome = run_example("in-flight");
  const Json& first = outcome.summary["results"][0];
  CHECK(first["resident_requests"] == 2);
  CHECK(first["resident_kv_bytes"] == 2 * 516 * 4 * 4096);
  REQUIRE(first["waves"].size() == 2);
  CHECK(first["closed_form"]["wave_step_times_us"].size() == 2);
  for (std::size_t wave = 0; wave < 2; ++wave) {
    for (std::size_t token = 0; token < 4; ++token) {
      CHECK(first["waves"][wave]["step_times_us"][token].get<double>() ==
            Approx(first["closed_form"]["wave_step_times_us"][wave][token].get<double>())
                .epsilon(1e-6));
    }
  }
  CHECK(first["waves"][0]["step_times_us"] == first["step_times_us"]);
  CHECK(first["round_bound"]["time_us"].get<double>() <= 1.05 * first["tpot_us"].get<double>());
  CHECK(outcome.text.find("in the long run a token of every wave") != std::string::npos);
}

TEST_CASE("requests of different contexts agree with their closed form while they end together") {
  const std::string mixed =
      "--set workload.contexts=[] --set workload.tokens=2 --set workload.batch=3 --set "
      "'workload.request_contexts=[512, 0, 90]' --set crossovers=off ";
  run_example("in-flight", mixed);
  run_example("in-flight", mixed + "--set cache.devices=2");
  run_example("pooled", mixed + "--set pool.batching=wave --set pool.sweep_batch=wave");
  run_example("tensor-parallel", mixed + "--set workload.context=512");
  const Scratch scratch;
  const Results apart = run_program(fs::path(test::source_dir()) / "configs/runs/in-flight.yaml",
                                    scratch, mixed + "--set 'workload.request_tokens=[1, 2, 2]'");
  CHECK(apart.text.find("Numbers: PASS") != std::string::npos);
  CHECK(apart.summary["results"][0]["closed_form"].is_null());
}

TEST_CASE("what is ready of different requests is no whole wave, and has no closed form") {
  const Scratch scratch;
  const Results outcome =
      run_program(fs::path(test::source_dir()) / "configs/runs/pooled.yaml", scratch,
                  "--set workload.batch=3 --set 'workload.request_contexts=[100, 5000, 300]' --set "
                  "crossovers=off --set workload.tokens=3 --set workload.contexts=[512]");
  CHECK(outcome.text.find("Numbers: PASS") != std::string::npos);
  const Json& first = outcome.summary["results"][0];
  CHECK(first["closed_form"].is_null());
  CHECK(first["roofline"].is_object());
  REQUIRE(first["requests"].size() == 3);
  CHECK(first["requests"][1]["context"] == 5000);
  CHECK(first["requests"][1]["tpot_us"].get<double>() >=
        first["requests"][0]["tpot_us"].get<double>());
  CHECK(outcome.summary["crossovers"].empty());
}

TEST_CASE("where the closed form does not apply there is none") {
  for (const char* more :
       {"--set pool.instances=2", "--set 'pool.window=1 us'", "--set pool.batching=request",
        "--set pool.sweep_batch=request", "--set workload.in_flight=2"}) {
    const Scratch scratch;
    INFO(more);
    const Results outcome = run_program(
        fs::path(test::source_dir()) / "configs/runs/pooled.yaml", scratch,
        std::string("--set crossovers=off --set workload.contexts=[] --set workload.batch=2 ") +
            more);
    CHECK(outcome.text.find("Numbers: PASS") != std::string::npos);
    CHECK(outcome.summary["results"][0]["closed_form"].is_null());
  }
  const Results waves =
      run_example("pooled",
                  "--set crossovers=off --set workload.in_flight=2 --set pool.batching=wave --set "
                  "pool.sweep_batch=wave");
  CHECK(waves.summary["results"][0]["round_bound"].is_object());
}

}  // namespace qfs::test
