#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/report/csv.hpp"
#include "sim/report/report.hpp"
#include "sim/report/timeline.hpp"
#include "sim/report/timeline_lanes.hpp"
#include "tests/sim/report_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/timeline_check.hpp"

using namespace qfs;
using namespace qfs::test;
using Json = nlohmann::ordered_json;

namespace {

std::string file(const Report& report, const std::string& name) {
  for (const auto& [file_name, content] : report.files) {
    if (file_name == name) {
      return content;
    }
  }
  FAIL("no file " << name);
  return "";
}

Json summary_of(const RunResult& result) {
  return Json::parse(file(make_report(result, "yaml"), "summary.json"));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// The first event of the phase.
Json& event(Json& timeline, const std::string& phase) {
  for (Json& entry : timeline["traceEvents"]) {
    if (entry["ph"] == phase) {
      return entry;
    }
  }
  throw std::logic_error("no such event");
}

}  // namespace

TEST_CASE("operations.csv has a line per row with exact times") {
  const std::vector<std::string> lines = lines_of(operations_csv(hand_made_result()));
  REQUIRE(lines.size() == 1 + 4 * two_steps().rows.size());
  CHECK(lines[0].starts_with(
      "result,block,context,id,kind,carries,layer,shard,step,members,attempt,"));
  CHECK(lines[1 + 1] ==
        "0,early_q,4608,1,q,,0,0,0,0,1,used,compute_device,0.000000000,0.000000000,0.010000000,"
        "0@0.000000000,1000,0,0,0,0,0,0,0");
  CHECK(lines[1 + 6] ==
        "0,early_q,4608,6,message,k v,0,0,0,0,1,used,link.to_cache_device,0.050000000,0.050000000,"
        "0.059000000,5@0.050000000,0,0,0,0,4,0,0,0");
  CHECK(lines[1 + 9].find(",1@0.010000000 5@0.050000000 8@0.068000000,") != std::string::npos);
  CHECK(lines.back().starts_with("3,standard,16384,19,append,"));
}

TEST_CASE("operations.csv keeps the last femtosecond and every member") {
  RunResult result = hand_made_result();
  Row& row = result.points[0].table.rows[1];
  row.end = Femtoseconds(123'456'789'012'345'678);
  row.members = {{RequestId(0), StepId(0)}, {RequestId(7), StepId(2)}};
  row.shard = 3;
  const std::string line = lines_of(operations_csv(result))[2];
  CHECK(line.find(",0,3,0,0 7@2,1,used,compute_device,") != std::string::npos);
  CHECK(line.find(",123456789.012345678,") != std::string::npos);
}

TEST_CASE("summary.json answers the question of a run") {
  const Json summary = summary_of(hand_made_result());
  CHECK(summary["tool"] == "qfsim");
  CHECK(summary["format"] == 1);
  CHECK(summary["name"] == "hand made");
  CHECK(summary["config"]["blocks"][0]["bits_per_byte_against_control"] == 0.0001);
  CHECK(summary["config"]["blocks"][1]["runs_existing_checkpoint_unchanged"] == true);
  CHECK(summary["config"]["compute_device"]["bandwidth_gb_per_s"] == 1000.0);
  CHECK(summary["config"]["block"] == "early_q");
  CHECK(summary["config"]["compare"] == Json({"standard"}));
  CHECK(summary["config"]["compute_device"]["mac_rate_tmac_per_s"].is_null());
  REQUIRE(summary["results"].size() == 4);
  const Json& first = summary["results"][0];
  for (const char* key : {"block",
                          "arrangement",
                          "current_token",
                          "accounting",
                          "context",
                          "batch",
                          "tokens",
                          "stack_time_us",
                          "step_time_us",
                          "step_times_us",
                          "tpot_us",
                          "drained_us",
                          "tokens_per_s",
                          "tokens_per_s_per_user",
                          "speedup_vs",
                          "ledger",
                          "traffic_first_step",
                          "t_a_layer_us",
                          "t_f_layer_us",
                          "t_a2f_layer_us",
                          "t_f2a_layer_us",
                          "balance_ratio",
                          "closed_form",
                          "roofline",
                          "numerics",
                          "bound",
                          "resources_first_step",
                          "share_of_peak_first_step"}) {
    CHECK(first.contains(key));
  }
  CHECK(first["step_time_us"] == 0.1);
  CHECK(first["stack_time_us"] == 0.08);
  CHECK(first["step_times_us"] == Json({0.1, 0.07}));
  CHECK(first["drained_us"] == 0.18);
  CHECK(first["ledger"]["compute_fs"] == 70 * unit);
  CHECK(first["ledger"]["hidden_us"] == 0.033);
  CHECK(first["ledger"]["waiting_for"][0]["operation"] == "merge");
  CHECK(first["ledger"]["waiting_for"][0]["time_us"] == 0.002);
  CHECK(first["speedup_vs"] == Json{{"standard", 1.0}});
  CHECK(first["traffic_first_step"]["cache_device"]["kv_read_bytes"] == 43000);
  CHECK(first["traffic_all_steps"]["total"]["wire_bytes"] == 14);
  CHECK(first["closed_form"]["agrees"] == true);
  CHECK(first["roofline"]["share"].get<double>() == Approx(0.5));
  CHECK(first["numerics"]["passed"] == true);
  CHECK(summary["results"][1]["numerics"].is_null());
  CHECK(summary["crossovers"][0]["simulated_positions"] == 5632.25);
  CHECK(summary["crossovers"][1]["state"] == "exposed_at_0");
}

TEST_CASE("summary.json has every key of the configuration, with its unit") {
  RunResult result = hand_made_result();
  result.config.model.qk_norm = true;
  result.config.link.jitter = Seconds(2e-6);
  Json config = summary_of(result)["config"];
  CHECK(config["model"]["qk_norm"] == true);
  CHECK(config["model"]["tied_embedding"] == false);
  CHECK(config["model"]["rope_theta"] == 1e6);
  CHECK(config["model"]["norm_epsilon"] == 1e-6);
  CHECK(config["model"]["weight_bytes"].get<std::int64_t>() > 0);
  CHECK(config["workload"]["contexts"] == Json::array({16384}));
  CHECK(config["link"]["preset"] == "ideal");
  CHECK(config["link"]["jitter_us"].get<double>() == Approx(2));
  CHECK(config["compute_device"]["exp_rate_texp_per_s"].is_null());
  CHECK(config["compute_device"]["capacity_bytes"].is_null());
  CHECK(config["numerics"]["kv_dtype"] == "bf16");
  CHECK(config["numerics"]["inject"].is_null());
  result.config.numerics.inject.kind = FaultKind::drop_edge;
  CHECK(summary_of(result)["config"]["numerics"]["inject"]["operation"] == "ffn");
  CHECK(summary_of(result)["config"]["numerics"]["inject"]["value"] == "residual");
  result.config.arrangement = Arrangement::colocated;
  config = summary_of(result)["config"];
  CHECK(config["cache_device"].is_null());
  CHECK(config["link"].is_null());
}

TEST_CASE("where the closed form need not agree, summary.json does not say that it does not") {
  RunResult result = hand_made_result();
  result.config.link.jitter = Seconds(1e-9);
  const Json form = summary_of(result)["results"][0]["closed_form"];
  CHECK(form["expected_to_agree"] == false);
  CHECK(form["agrees"].is_null());
}

TEST_CASE("the ledger in summary.json adds up to the step exactly") {
  const Json summary = summary_of(hand_made_result());
  for (const Json& result : summary["results"]) {
    const Json& ledger = result["ledger"];
    std::int64_t sum = 0;
    for (const char* part : {"merge_and_output_fs", "compute_fs", "sweep_exposed_fs",
                             "link_exposed_fs", "waiting_fs"}) {
      sum += ledger[part].get<std::int64_t>();
    }
    CHECK(sum == ledger["total_fs"].get<std::int64_t>());
    CHECK(sum == result["step_time_fs"].get<std::int64_t>());
  }
}

TEST_CASE("one token has no TPOT") {
  RunResult result = hand_made_result();
  for (PointResult& point : result.points) {
    point.table.rows.resize(12);
  }
  CHECK(summary_of(result)["results"][0]["tpot_us"].is_null());
}

TEST_CASE("numerics.json tells what was checked, and a failure everywhere") {
  RunResult result = hand_made_result();
  Report report = make_report(result, "yaml");
  CHECK(report.numerics_passed);
  Json numerics = Json::parse(file(report, "numerics.json"));
  REQUIRE(numerics["results"].size() == 1);
  CHECK(numerics["results"][0]["operations"][0]["operation"] == "sweep");
  CHECK(numerics["results"][0]["end_to_end"]["errors"].size() == 2);
  CHECK(numerics["results"][0]["sensitivity"]["newest"] == 0.25);

  OperationError failure{OpKind::o, LayerId(3), StepId(0), RequestId(0), 0.5};
  failure.relative_error = std::numeric_limits<double>::infinity();
  result.points[0].numerics->failures = {failure};
  report = make_report(result, "yaml");
  CHECK_FALSE(report.numerics_passed);
  CHECK(report.table.find("Numbers: FAIL") != std::string::npos);
  CHECK(report.table.find("early_q: first failure o at layer 3") != std::string::npos);
  CHECK(report.table.find("(1 operation failed)") != std::string::npos);
  CHECK(report.numeric_failure == "early_q: o at layer 3, step 0, request 0");
  numerics = Json::parse(file(report, "numerics.json"));
  CHECK(numerics["results"][0]["failures"][0]["layer"] == 3);
  CHECK(numerics["results"][0]["failures"][0]["relative_error"].is_null());
}

TEST_CASE("the same input gives the same bytes, and the configuration passes through") {
  const Report a = make_report(hand_made_result(), "name: x\n");
  const Report b = make_report(hand_made_result(), "name: x\n");
  CHECK(a.files == b.files);
  CHECK(a.table == b.table);
  CHECK(file(a, "config.yaml") == "name: x\n");
  CHECK(a.files.size() == 5);
}

TEST_CASE("the timeline of a run passes its check") {
  const RunResult result = hand_made_result();
  const Json timeline = Json::parse(timeline_json(result));
  CHECK(timeline_fault(timeline, result) == "");
  std::size_t slices = 0;
  for (const Json& entry : timeline["traceEvents"]) {
    slices += entry["ph"] == "X" ? 1 : 0;
  }
  CHECK(slices == 2 * two_steps().rows.size());  // both blocks, the main context only
}

TEST_CASE("rows that overlap get lanes of their own") {
  TableMaker make;
  make.message(0, to_cache, {ValueKind::q}, 0, 10);
  make.message(0, to_cache, {ValueKind::q}, 4, 14);
  make.message(0, to_cache, {ValueKind::q}, 10, 20);
  make.message(0, to_cache, {ValueKind::q}, 12, 22);
  make.message(0, to_cache, {ValueKind::q}, 14, 24);
  const TimelineLanes lanes = assign_lanes(make.table());
  const auto number = [&](std::size_t row) { return lanes.lanes[lanes.lane_of_row[row]].number; };
  CHECK(number(0) == 0);
  CHECK(number(1) == 1);
  CHECK(number(2) == 0);
  CHECK(number(3) == 2);
  CHECK(number(4) == 1);
  CHECK(lanes.lanes.size() == 5 + 2);  // a resource without rows keeps its one lane
}

TEST_CASE("a timeline that was tampered with fails its check") {
  const RunResult result = hand_made_result();
  const Json good = Json::parse(timeline_json(result));
  Json bad = good;
  const auto caught = [&](const std::string& fault) {
    INFO(timeline_fault(bad, result));
    CHECK(timeline_fault(bad, result).find(fault) != std::string::npos);
    bad = good;
  };
  bad.erase("traceEvents");
  caught("no traceEvents");
  bad["displayTimeUnit"] = "ms";
  caught("displayTimeUnit");
  event(bad, "X").erase("dur");
  caught("no dur");
  event(bad, "X")["dur"] = -1;
  caught("negative dur");
  event(bad, "X")["dur"] = 0.005;  // the embedding over the q that follows
  caught("overlap");
  event(bad, "X")["ph"] = "Z";
  caught("unknown phase");
  event(bad, "X")["args"]["row"] = 1;
  caught("twice");
  event(bad, "X")["args"]["row"] = 999;
  caught("missing");
  event(bad, "X")["tid"] = 5;
  caught("has no name");
  event(bad, "s")["id"] = 999;
  caught("does not end");
  event(bad, "s")["ts"] = 0.09;
  caught("backwards");
  event(bad, "s")["tid"] = 1002;
  caught("does not begin on a slice");
  event(bad, "f")["id"] = 2;
  caught("begins or ends twice");
  event(bad, "f").erase("bp");
  caught("no text bp");
  bad["traceEvents"].erase(bad["traceEvents"].size() - 1);
  caught("");
  bad["traceEvents"].push_back(7);
  caught("not an object");
  CHECK(timeline_fault(good, result).empty());
}

TEST_CASE("a timeline without one of its rows or arrows fails its check") {
  const RunResult result = hand_made_result();
  const Json good = Json::parse(timeline_json(result));
  for (const char* phase : {"X", "s", "f"}) {
    Json bad = good;
    Json& events = bad["traceEvents"];
    for (std::size_t i = events.size(); i-- > 0;) {
      if (events[i]["ph"] == phase) {
        events.erase(i);
        break;
      }
    }
    CHECK_FALSE(timeline_fault(bad, result).empty());
  }
}
