// Several waves in flight and requests of different lengths: steps, speeds, ledgers, rows.
#include <nlohmann/json.hpp>

#include "sim/report/derived.hpp"
#include "sim/report/point_analysis.hpp"
#include "sim/report/report.hpp"
#include "sim/report/steps.hpp"
#include "sim/report/waves.hpp"
#include "tests/sim/report_support.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

/// Two waves of two requests, two tokens each, by their outputs alone: wave 0 ends its steps at 10
/// (its second request at 8) and 30, wave 1 at 20 and 50.
ExecutionTable two_waves() {
  TableMaker make;
  make.operation(0, compute, OpKind::o, 0, 8).members = {{RequestId(1), StepId(0)}};
  make.operation(0, compute, OpKind::o, 8, 10).members = {{RequestId(0), StepId(0)}};
  make.operation(0, compute, OpKind::o, 10, 20).members = {{RequestId(2), StepId(0)},
                                                           {RequestId(3), StepId(0)}};
  make.operation(1, compute, OpKind::o, 20, 30).members = {{RequestId(0), StepId(1)},
                                                           {RequestId(1), StepId(1)}};
  make.operation(1, compute, OpKind::o, 40, 50).members = {{RequestId(2), StepId(1)},
                                                           {RequestId(3), StepId(1)}};
  return make.table();
}

RunResult result_of_two_waves() {
  RunResult result;
  result.config = hand_made_config();
  result.config.compare = {};
  result.config.workload.batch = 2;
  result.config.workload.in_flight = 2;
  result.config.workload.contexts = {};
  PointResult point;
  point.block = BlockOrder::early_q;
  point.context = 4608;
  point.table = two_waves();
  result.points.push_back(std::move(point));
  return result;
}

nlohmann::json summary_of(const RunResult& result) {
  const Report report = make_report(result, "yaml");
  REQUIRE(report.files.front().first == "summary.json");
  return nlohmann::json::parse(report.files.front().second);
}

}  // namespace

TEST_CASE("each request has its own steps, and a wave's step ends with its last request's") {
  const ExecutionTable table = two_waves();
  const RequestSteps requests = request_steps(table, 4);
  REQUIRE(requests.size() == 4);
  CHECK(requests[0][0].end == at(10));
  CHECK(requests[1][0].end == at(8));
  CHECK(requests[1][1].start == at(8));
  CHECK(requests[1][1].end == at(30));
  const auto wave = wave_steps(std::span(requests).first(2));
  REQUIRE(wave.size() == 2);
  CHECK(wave[0].end == at(10));
  CHECK(wave[1].start == at(10));
  CHECK(wave[1].end == at(30));
  CHECK(wave_steps(std::span(requests).subspan(2))[0].end == at(20));
  CHECK(steps_of(table)[0].end == at(20));  // all as one wave
}

TEST_CASE("a launch over tokens of several steps ends each request's own") {
  TableMaker make;
  make.operation(0, compute, OpKind::o, 0, 10).members = {{RequestId(0), StepId(0)},
                                                          {RequestId(1), StepId(0)}};
  make.operation(1, compute, OpKind::o, 10, 20).members = {{RequestId(0), StepId(1)}};
  make.operation(1, compute, OpKind::o, 20, 35).members = {{RequestId(0), StepId(2)},
                                                           {RequestId(1), StepId(1)}};
  const RequestSteps requests = request_steps(make.table(), 2);
  REQUIRE(requests[0].size() == 3);
  REQUIRE(requests[1].size() == 2);
  CHECK(requests[0][2].end == at(35));
  CHECK(requests[1][1].end == at(35));
  CHECK(requests[1][1].length() == at(25));
}

TEST_CASE("TPOT is the mean over all requests, and tokens a second their sum") {
  // TPOT of the requests: 20, 22, 30, 30 units.
  const DecodeSpeed speed = speed_of(request_steps(two_waves(), 4));
  REQUIRE(speed.tpot);
  CHECK(speed.tpot->value() == Approx(25.5e-9));
  CHECK(speed.tokens_per_s_per_user == Approx(1 / 25.5e-9));
  CHECK(speed.tokens_per_s == Approx(1 / 20e-9 + 1 / 22e-9 + 2 / 30e-9));
}

TEST_CASE("rows are those of each wave that takes part, once") {
  TableMaker make;
  make.operation(0, compute, OpKind::q, 0, 1).members = {
      {RequestId(0), StepId(0)}, {RequestId(1), StepId(0)}, {RequestId(3), StepId(0)}};
  make.operation(0, compute, OpKind::o, 1, 2).members = {{RequestId(2), StepId(0)}};
  const auto rows = rows_by_wave(make.table(), 2, 2);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].size() == 1);
  CHECK(rows[1].size() == 2);
  for (const WaveRequests& wave : waves_of(2, 2)) {
    CHECK(rows_of(make.table(), wave) == rows[wave.first.value() / 2]);
  }
}

TEST_CASE("the report of several waves: steps and ledger of wave 0, speeds of all") {
  const RunResult result = result_of_two_waves();
  const auto analyses = analyse(result);
  REQUIRE(analyses[0].waves.size() == 2);
  CHECK(analyses[0].step_time() == at(10));
  CHECK(analyses[0].waves[1].steps[1].length() == at(30));
  CHECK(analyses[0].waves[1].ledgers[0].merge_and_output == at(10));  // 10..20 of [0, 20]
  CHECK(analyses[0].waves[1].ledgers[0].waiting == at(10));

  const auto summary = summary_of(result);
  const auto& point = summary["results"][0];
  CHECK(point["in_flight"] == 2);
  CHECK(point["resident_requests"] == 4);
  // 1 layer, 1 KV head of 4 values, bf16: 16 bytes a position; 4608 + 2 positions each.
  CHECK(point["resident_kv_bytes"] == 4 * 4610 * 16);
  CHECK(point["step_times_us"] == nlohmann::json({0.01, 0.02}));
  CHECK(point["tpot_us"].get<double>() == Approx(0.0255));
  REQUIRE(point["waves"].size() == 2);
  CHECK(point["waves"][1]["first_request"] == 2);
  CHECK(point["waves"][1]["step_times_us"] == nlohmann::json({0.02, 0.03}));
  CHECK(point["waves"][1]["tpot_us"].get<double>() == Approx(0.03));
  CHECK(point["waves"][1]["ledger"]["waiting_us"] == 0.01);
  CHECK(point["requests"].is_null());
  CHECK(point["roofline"].is_null());
  CHECK(point["round_bound"].is_null());

  const std::string table = make_report(result, "yaml").table;
  CHECK(table.find("batch 2, 2 waves in flight, 2 tokens each") != std::string::npos);
  CHECK(table.find("4 requests, KV cache 288.1 KiB at the end, context 4,608") !=
        std::string::npos);
  CHECK(table.find("batch 2, in flight 2\n") != std::string::npos);
  CHECK(table.find("those of wave 0") != std::string::npos);
}

TEST_CASE("the closed form is compared with the steps of every wave") {
  RunResult result = result_of_two_waves();
  result.points[0].analytic.stack_time = Seconds(10e-9);
  result.points[0].analytic.step_times = {{Seconds(10e-9), Seconds(20e-9)},
                                          {Seconds(20e-9), Seconds(30e-9)}};
  CHECK(analyse(result)[0].closed_form->agrees());
  result.points[0].analytic.step_times[1][1] = Seconds(31e-9);
  CHECK_FALSE(analyse(result)[0].closed_form->agrees());
  CHECK(analyse(result)[0].closed_form->deviation == Approx(-1.0 / 31));
}

TEST_CASE("requests of different contexts are told one by one") {
  RunResult result = result_of_two_waves();
  result.config.workload.request_contexts = {8, 4096};
  const auto requests = summary_of(result)["results"][0]["requests"];
  REQUIRE(requests.size() == 4);
  CHECK(requests[1]["context"] == 4096);
  CHECK(requests[2]["context"] == 8);
  CHECK(requests[1]["step_times_us"] == nlohmann::json({0.008, 0.022}));
  CHECK(requests[3]["tpot_us"].get<double>() == Approx(0.03));
  const std::string table = make_report(result, "yaml").table;
  CHECK(table.find("  mixed contexts 8 to 4 Ki, mean 2,052.0\n") != std::string::npos);
  CHECK(table.find("\n  mixed    early_q") != std::string::npos);
  CHECK(table.find("Answer, context mixed, batch 2") != std::string::npos);
}

TEST_CASE("devices are told by their role, whatever their names") {
  ExecutionTable table;
  table.resources = {{"pool", ResourceKind::executor},
                     {"pool.writes", ResourceKind::writes},
                     {"cache_device_0", ResourceKind::executor},
                     {"cache_device_1", ResourceKind::executor},
                     {"cache_device_1.writes", ResourceKind::writes},
                     {"link.to_pool", ResourceKind::link},
                     {"link.to_cache_device_0", ResourceKind::link},
                     {"link.to_other_cache_device", ResourceKind::link},
                     {"link.to_owner", ResourceKind::link}};
  const Layout layout = layout_with(Arrangement::pooled, 2);
  const Places places(table, layout);
  CHECK(places.side_of(0) == DeviceSide::compute);
  CHECK(places.side_of(1) == DeviceSide::compute);
  CHECK(places.side_of(2) == DeviceSide::cache);
  CHECK(places.side_of(4) == DeviceSide::cache);
  CHECK_FALSE(places.side_of(5));
  CHECK(places.leads(5, DeviceSide::cache, DeviceSide::compute));
  CHECK(places.leads(6, DeviceSide::compute, DeviceSide::cache));
  CHECK_FALSE(places.leads(5, DeviceSide::compute, DeviceSide::cache));
  for (const std::size_t among_caches : {7, 8}) {
    CHECK_FALSE(places.leads(among_caches, DeviceSide::cache, DeviceSide::compute));
    CHECK(places.leads(among_caches, DeviceSide::cache, DeviceSide::cache));
  }
}

TEST_CASE("each cache device has its own traffic, use and load") {
  ExecutionTable table;
  table.resources = {{"compute_device", ResourceKind::executor},
                     {"cache_device_0", ResourceKind::executor},
                     {"cache_device_1", ResourceKind::executor},
                     {"cache_device_1.writes", ResourceKind::writes}};
  const auto add = [&](std::size_t resource, OpKind op, std::int64_t end, std::int64_t bytes) {
    Row row;
    row.op = op;
    row.members = {{RequestId(0), StepId(0)}};
    row.resource = resource;
    row.end = at(end);
    row.work.kv_read_bytes = Bytes(bytes);
    table.add(std::move(row));
  };
  add(0, OpKind::o, 100, 7);
  add(1, OpKind::sweep, 40, 4000);
  add(2, OpKind::sweep, 60, 6000);
  add(3, OpKind::append, 5, 500);
  const auto traffic = traffic_of(table);
  REQUIRE(traffic.size() == 3);
  CHECK(traffic[1].work.kv_read_bytes == Bytes(4000));
  CHECK(traffic[2].place == "cache_device_1");
  CHECK(traffic[2].work.kv_read_bytes == Bytes(6500));

  RunConfig config = hand_made_config();
  config.cache_device.bandwidth = BytesPerSecond(1e11);  // 100 bytes a unit
  const Layout layout = layout_with(Arrangement::two_device, 2);
  const StepTime first = steps_of(table).at(0);
  const auto loads = loads_of(table, first, config, Places(table, layout));
  REQUIRE(loads.size() == 3);
  CHECK(loads[1].resource == "cache_device_0 memory");
  CHECK(loads[1].share == Approx(0.4));
  CHECK(loads[2].share == Approx(0.65));
  CHECK(use_of(table, first, config.link)[2].busy == at(60));
}
