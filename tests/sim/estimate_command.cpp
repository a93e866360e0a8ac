// `qfsim estimate` as a user runs it.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "sim/config/load.hpp"
#include "sim/estimate/run_estimate.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/sim/scratch.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

using Json = nlohmann::json;

Json estimate_json(const std::string& arguments) {
  const Outcome outcome = qfsim("estimate " + arguments + " --json");
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  return Json::parse(outcome.text);
}

std::string settings(const std::string& keys) {
  std::istringstream words(keys);
  std::string all;
  for (std::string word; words >> word;) {
    all += " --set " + word;
  }
  return all;
}

void check_counts(const std::string& arguments, std::int64_t macs, std::int64_t accesses) {
  CAPTURE(arguments);
  const Json json = estimate_json(arguments);
  CHECK(json["macs"] == Json{{"status", "complete"}, {"value", macs}});
  CHECK(json["logical_accesses"] == Json{{"status", "complete"}, {"value", accesses}});
  CHECK(json["diagnoses"].empty());
  std::int64_t of_stages = 0;
  for (const Json& stage : json["stages"]) {
    of_stages += stage["times"].get<std::int64_t>() * stage["logical_accesses"].get<std::int64_t>();
  }
  CHECK(of_stages == accesses);
}

TEST_CASE("the hand-derived examples from the command line") {
  const std::string tiny = "embed_dim=4 heads=2";
  const auto module = [&](const std::string& kind, const std::string& keys) {
    return "--module " + kind + settings(tiny + " " + keys);
  };
  check_counts(module("attention", "target_length=3"), 264, 452);
  check_counts(module("attention", "target_length=3 need_weights=true"), 264, 479);
  check_counts(module("attention", "target_length=2 source_length=3 sharing=key_value"), 208, 352);
  check_counts(module("attention", "target_length=2 source_length=3 kdim=6 vdim=5 sharing=none"),
               244, 373);
  check_counts(module("encoder_layer", "ffn_dim=8 source_length=3"), 504, 912);
  check_counts(module("decoder_layer", "ffn_dim=8 target_length=2 source_length=3"), 544, 1069);
  check_counts(module("transformer",
                      "ffn_dim=8 target_length=2 source_length=3 encoder_layers=1 "
                      "decoder_layers=1"),
               1088, 2144);
  check_counts("--module attention" +
                   settings("batch=2 target_length=3 source_length=5 embed_dim=8 heads=4 kdim=6 "
                            "vdim=7 sharing=none attn_mask=finite need_weights=true"),
               2288, 2799);
  check_counts("--module norm" + settings("length=3 embed_dim=4"), 24, 96);
  check_counts("--module feed_forward" + settings("length=3 embed_dim=4 ffn_dim=8"), 192, 196);
}

TEST_CASE("stacks from the command line are their layers and the final norm") {
  const std::string sizes = " embed_dim=4 heads=2 ffn_dim=8";
  check_counts("--module encoder" + settings("source_length=3 layers=5" + sizes), 5 * 504, 5 * 912);
  check_counts(
      "--module encoder" + settings("source_length=3 layers=5 final_norm=layer_norm" + sizes),
      5 * 504 + 24, 5 * 912 + 96);
  check_counts("--module decoder" + settings("target_length=2 source_length=3 layers=4 "
                                             "final_norm=layer_norm final_norm_bias=false" +
                                             sizes),
               4 * 544 + 16, 4 * 1069 + 67 - 4);
}

TEST_CASE("a module from a file, with keys put over it") {
  const Scratch scratch;
  std::ofstream(scratch / "m.yaml") << "module: decoder\nembed_dim: 4\nheads: 2\nffn_dim: 8\n"
                                       "target_length: 3\nsource_length: 5\nlayers: 2\n"
                                       "memory_mask: causal\nlayout: sequence_first\n";
  const std::string file = (scratch / "m.yaml").string();
  const Json json = estimate_json("--module " + file);
  const Json& dependencies = json["token_dependencies"];
  CHECK(json["module"] == "decoder");
  CHECK(dependencies["scope"] == "module_call");
  CHECK(dependencies["output"] == Json{{"axis", 0}, {"length", 3}});
  CHECK(dependencies["inputs"][0] ==
        Json{{"arguments", {"tgt"}}, {"axis", 0}, {"length", 3}, {"relation", "all"}});
  CHECK(dependencies["inputs"][1] == Json{{"arguments", {"memory"}},
                                          {"axis", 0},
                                          {"length", 5},
                                          {"relation", "all"},
                                          {"limit", 3}});
  const Json one = estimate_json("--module " + file + " --set layers=1 --set layout=batch_first");
  CHECK(one["token_dependencies"]["inputs"][1] ==
        Json{{"arguments", {"memory"}}, {"axis", 1}, {"length", 5}, {"relation", "prefix"}});
  CHECK(one["keys"]["layers"] == "1");
}

TEST_CASE("causal attention of separate tensors says from which position on") {
  const Json json =
      estimate_json("--module attention" +
                    settings("embed_dim=4 heads=2 target_length=3 attn_mask=causal sharing=none"));
  const Json& inputs = json["token_dependencies"]["inputs"];
  CHECK(inputs[0]["first_position"] == 1);
  CHECK(inputs[1]["first_position"] == 1);
  CHECK_FALSE(inputs[2].contains("first_position"));
}

TEST_CASE("what is unavailable is no number, and an error only if asked for") {
  const std::string call = "--module attention" + settings(
                                                      "embed_dim=4 heads=2 target_length=3 "
                                                      "is_causal=true");
  const Json json = estimate_json(call);
  CHECK(json["macs"] == Json{{"status", "unavailable"}});
  CHECK(json["logical_accesses"] == Json{{"status", "unavailable"}});
  CHECK(json["token_dependencies"] == Json{{"status", "unavailable"}});
  CHECK_FALSE(json.contains("stages"));
  CHECK(json["diagnoses"].size() == 1);
  CHECK(qfsim("estimate " + call + " --strict").status == 1);
  CHECK(qfsim("estimate " + call + " --set attn_mask=causal --strict").status == 0);
  const Outcome text = qfsim("estimate " + call);
  CHECK(text.status == 0);
  CHECK(text.text.find("MACs and logical accesses: unavailable") != std::string::npos);
  CHECK(text.text.find("causal hint") != std::string::npos);
}

TEST_CASE("every kind of module documents its keys") {
  for (const char* kind : {"attention", "feed_forward", "norm", "encoder_layer", "decoder_layer",
                           "encoder", "decoder", "transformer"}) {
    const Outcome outcome = qfsim(std::string("estimate --keys --module ") + kind);
    CAPTURE(kind);
    CHECK(outcome.status == 0);
    CHECK(outcome.text.find("| `embed_dim` | ") != std::string::npos);
    CHECK(outcome.text.find("| `batch` | ") != std::string::npos);
  }
  CHECK(qfsim("estimate --help").status == 0);
}

TEST_CASE("a wrong question to estimate is refused in one line") {
  const Scratch scratch;
  std::ofstream(scratch / "none.yaml") << "embed_dim: 4\n";
  std::ofstream(scratch / "wrong.yaml") << "embed_dim: 4\nmodule: encodr\n";
  const std::string attention = "--module attention --set embed_dim=4 --set heads=2 ";
  const std::pair<std::string, const char*> cases[] = {
      {"", "neither RUN.yaml nor --module is given"},
      {"a.yaml --module norm", "both RUN.yaml and --module are given"},
      {"a.yaml --keys", "--keys needs --module KIND"},
      {"missing.yaml", "missing.yaml"},
      {"--module atention", "did you mean 'attention'?"},
      {"--module " + (scratch / "none.yaml").string(), "module: missing"},
      {"--module " + (scratch / "wrong.yaml").string(), "wrong.yaml:2: module: 'encodr'"},
      {attention, "target_length: missing"},
      {attention + "--set target_length=0", "target_length: '0'"},
      {attention + "--set target_lenght=3", "did you mean 'target_length'?"},
      {attention + "--set target_length=3 --set heads=3", "heads: '3' does not divide embed_dim"},
      {attention + "--set target_length=3 --set source_length=4", "source_length: '4'"},
      {attention + "--set target_length=3 --set kdim=5", "kdim: '5'"},
      {attention + "--set target_length=3 --set vdim=5", "vdim: '5'"},
      {attention + "--set target_length=3 --set attn_mask=casual", "did you mean 'causal'?"},
      {attention + "--set target_length=3 --set key_padding_mask=causal", "key_padding_mask"},
      {attention + "--set target_length='1 Ti'", "63 bits"},
      {"--module encoder --set embed_dim=4 --set heads=2 --set ffn_dim=4 --set source_length=3 "
       "--set layers=0",
       "layers: '0'"}};
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = qfsim("estimate " + arguments, "2>&1 >/dev/null");
    INFO(arguments << ": " << outcome.text);
    CHECK(outcome.status == 2);
    CHECK(outcome.text.find(message) != std::string::npos);
    CHECK(std::ranges::count(outcome.text, '\n') == 1);
  }
}

// ---- runs

/// A decoder of three layers, in every block order.
std::string run_file(const std::string& arrangement) {
  return "name: counted\nmodel: {hidden: 64, layers: 3, heads: 8, kv_heads: 4, head_dim: 16, "
         "ffn: 96, vocab: 128}\nblock: standard\ncompare: [swapped, early_q, early_k, early_qk, "
         "parallel, shifted_q, single_q]\nworkload: {batch: 3, context: 50, tokens: 2, contexts: "
         "[7]}\ncompute_device: {preset: ideal, bandwidth: 1 GB/s, launch_overhead: 1 us}\n"
         "numerics: {mode: off, kv_dtype: int8}\ncrossovers: off\n" +
         arrangement;
}

const std::string link_and_cache =
    "cache_device: {preset: ideal, bandwidth: 2 GB/s}\nlink: {latency: 1 us, bandwidth: 1 GB/s}\n";

using Totals = std::map<std::tuple<std::size_t, std::string, std::size_t, std::string, std::string>,
                        std::map<std::string, std::int64_t>>;

const std::vector<std::string> counters{"weight_bytes",     "kv_read_bytes", "kv_written_bytes",
                                        "activation_bytes", "macs",          "exps",
                                        "launches"};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream row(line);
  for (std::string cell; std::getline(row, cell, ',');) {
    cells.push_back(cell);
  }
  return cells;
}

/// By context, block, step, device and operation.
Totals simulated_totals(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = cells_of(line);
  Totals totals;
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = cells_of(line);
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size(); ++i) {
      row[names[i]] = cells.at(i);
    }
    const std::string& kind = row["kind"];
    if (kind == "message" || kind == "embed" || kind == "merge") {
      continue;
    }
    const std::string device = row["resource"].substr(0, row["resource"].find('.'));
    auto& sums =
        totals[{std::stoul(row["context"]), row["block"], std::stoul(row["step"]), device, kind}];
    for (const std::string& counter : counters) {
      sums[counter] += std::stoll(row[counter]);
    }
  }
  return totals;
}

Totals estimated_totals(const Json& json) {
  Totals totals;
  for (const Json& result : json["results"]) {
    for (const Json& step : result["steps"]) {
      for (const Json& part : step["parts"]) {
        const std::size_t layers = part["closed_form_us"].size();
        CHECK(layers == (part["part"] == "lm_head" ? 1U
                                                   : part["last"].get<std::size_t>() -
                                                         part["first"].get<std::size_t>() + 1));
        for (const Json& operation : part["operations"]) {
          auto& sums = totals[{result["context"], result["block"], step["step"],
                               operation["device"], operation["operation"]}];
          for (const std::string& counter : counters) {
            sums[counter] +=
                static_cast<std::int64_t>(layers) * operation[counter].get<std::int64_t>();
          }
        }
      }
    }
  }
  return totals;
}

void check_against_run(const std::string& arrangement) {
  CAPTURE(arrangement);
  const Scratch scratch;
  std::filesystem::create_directory_symlink(test::source_dir() + "/configs", scratch / "configs");
  std::ofstream(scratch / "run.yaml") << run_file(arrangement);
  const std::string file = (scratch / "run.yaml").string();
  const Outcome run = qfsim("run " + file + " --out " + (scratch / "out").string(), "2>&1");
  INFO(run.text);
  REQUIRE(run.status == 0);
  const Json json = estimate_json(file + " --strict");
  const Totals totals = estimated_totals(json);
  CHECK(totals.size() >= 2 * 8 * 2 * 5);  // contexts, orders, steps, operations
  CHECK(totals == simulated_totals(content(scratch / "out" / "operations.csv")));
  const Json summary = Json::parse(content(scratch / "out" / "summary.json"));
  REQUIRE(json["results"].size() == summary["results"].size());
  for (std::size_t i = 0; i < json["results"].size(); ++i) {
    const Json& step = json["results"][i]["steps"][0];
    const Json& simulated = summary["results"][i];
    CAPTURE(simulated["block"], simulated["context"]);
    CHECK(step["closed_form_us"] == simulated["closed_form"]["step_time_us"]);
    CHECK(step["closed_form_us"].get<double>() == Approx(simulated["step_time_us"].get<double>()));
    CHECK(step["roofline_us"] == simulated["roofline"]["step_time_us"]);
    CHECK(step["roofline_bound"] == simulated["roofline"]["bound"]);
  }
}

TEST_CASE("estimates of a run file are the counters of its simulation") {
  check_against_run("arrangement: colocated\n");
  check_against_run("arrangement: two_device\n" + link_and_cache);
  check_against_run(
      "arrangement: two_device\ncurrent_token: append_first\ncache: {devices: 2, "
      "split: heads}\n" +
      link_and_cache);
  check_against_run("arrangement: pooled\npool: {batching: wave, sweep_batch: wave}\n" +
                    link_and_cache);
  check_against_run(
      "arrangement: tensor_parallel\ntensor_parallel: {devices: 4}\n"
      "link: {latency: 1 us, bandwidth: 1 GB/s}\n");
}

TEST_CASE("what a run decides while it goes on is not estimated") {
  const ConfigFolder folder;
  const auto estimate_of = [&](const std::string& arrangement) {
    return estimate::run_estimate(load_run_config(folder.write("run.yaml", run_file(arrangement))));
  };
  const auto reason = [&](const std::string& arrangement) {
    const estimate::RunEstimate found = estimate_of(arrangement);
    CHECK_FALSE(found.points.front().decode);
    REQUIRE(found.points.front().not_covered.size() == 1);
    return found.points.front().not_covered.front();
  };
  const std::string pooled = "arrangement: pooled\n" + link_and_cache;
  CHECK(reason(pooled + "pool: {instances: 2}\n").starts_with("pool.instances"));
  CHECK(reason(pooled + "pool: {window: 5 us}\n").starts_with("pool.window"));
  CHECK(reason(pooled + "pool: {sweep_batch: request}\n").starts_with("pool.batching"));
  CHECK(estimate_of("arrangement: two_device\ncache: {prefetch: {ahead: 1, staging: 1 KiB}}\n" +
                    link_and_cache)
            .not_counted.size() == 1);
  CHECK(estimate_of("arrangement: colocated\n").not_counted.empty());
}

TEST_CASE("an estimate of a run for people") {
  const Outcome outcome = qfsim("estimate " + test::source_dir() + "/configs/runs/quickstart.yaml");
  CHECK(outcome.status == 0);
  for (const char* text : {"estimated without simulation", "Each of layers 0 to 27", "LM head",
                           "1,124,466,688", "compute_device memory", "18.00 MiB", "together"}) {
    CAPTURE(text);
    CHECK(outcome.text.find(text) != std::string::npos);
  }
}

}  // namespace
}  // namespace qfs::test
