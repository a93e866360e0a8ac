#include "sim/report/summary.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/config/system_config.hpp"
#include "sim/report/config_json.hpp"
#include "sim/report/dram_use.hpp"
#include "sim/report/numerics_json.hpp"

namespace qfs {
namespace {

using Json = nlohmann::ordered_json;

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// NAME_us beside the exact NAME_fs.
void put_time(Json& json, const std::string& name, Femtoseconds time) {
  json[name + "_us"] = to_microseconds(time);
  json[name + "_fs"] = time.value();
}

Json ledger_json(const StepLedger& ledger) {
  Json json;
  put_time(json, "merge_and_output", ledger.merge_and_output);
  put_time(json, "compute", ledger.compute);
  put_time(json, "sweep_exposed", ledger.sweep_exposed);
  put_time(json, "link_exposed", ledger.link_exposed);
  put_time(json, "waiting", ledger.waiting);
  put_time(json, "total", ledger.total());
  put_time(json, "sweep_busy", ledger.sweep_busy);
  put_time(json, "hidden", ledger.sweep_hidden());
  json["hidden_share"] = ledger.hidden_share();
  Json waiting = Json::array();
  for (const WaitingFor& wait : ledger.waiting_for) {
    Json entry{{"operation", name_of(wait.op)}};
    put_time(entry, "time", wait.time);
    waiting.push_back(entry);
  }
  json["waiting_for"] = waiting;
  return json;
}

Json device_traffic_json(const PlaceTraffic& at) {
  return {{"weight_bytes", at.work.weight_bytes.value()},
          {"kv_read_bytes", at.work.kv_read_bytes.value()},
          {"kv_written_bytes", at.work.kv_written_bytes.value()},
          {"activation_bytes", at.work.activation_bytes.value()},
          {"macs", at.work.macs.value()},
          {"exponentials", at.work.exps.value()},
          {"launches", at.work.launches}};
}

Json link_traffic_json(const PlaceTraffic& at) {
  return {{"wire_bytes", at.wire_bytes.value()}, {"messages", at.messages}};
}

Json traffic_json(std::span<const PlaceTraffic> traffic) {
  Json json = Json::object();
  for (const PlaceTraffic& at : traffic) {
    json[at.place] = at.is_link ? link_traffic_json(at) : device_traffic_json(at);
  }
  const PlaceTraffic total = total_of(traffic);
  json["total"] = device_traffic_json(total);
  json["total"].update(link_traffic_json(total));
  return json;
}

Json use_json(std::span<const ResourceUse> use) {
  Json json = Json::object();
  for (const ResourceUse& resource : use) {
    json[resource.name] = {{"busy_us", to_microseconds(resource.busy)},
                           {"utilisation", resource.share}};
  }
  return json;
}

Json loads_json(std::span<const PeakLoad> loads) {
  Json json = Json::object();
  for (const PeakLoad& load : loads) {
    json[load.resource] = load.share;
  }
  return json;
}

Json closed_form_json(const PointAnalysis& analysis) {
  if (!analysis.closed_form) {
    return nullptr;
  }
  const AnalyticAnswer& analytic = analysis.point->analytic;
  Json waves = Json::array();
  for (const std::vector<Seconds>& wave : analytic.step_times) {
    waves.push_back(Json::array());
    for (const Seconds time : wave) {
      waves.back().push_back(to_microseconds(time));
    }
  }
  const Json step_times = waves.empty() ? Json::array() : waves.front();
  const bool expected = analysis.closed_form->expected();
  const std::optional<Seconds>& achieved = analytic.achieved_step_time;
  return {{"stack_time_us", to_microseconds(analytic.stack_time)},
          {"at_achieved_step_time_us", achieved ? Json(to_microseconds(*achieved)) : Json(nullptr)},
          {"step_time_us", step_times.empty() ? Json(nullptr) : step_times.front()},
          {"step_times_us", step_times},
          {"wave_step_times_us", waves},
          {"relative_deviation", analysis.closed_form->deviation},
          {"tolerance", agreement_tolerance},
          {"expected_to_agree", expected},
          {"agrees", expected ? Json(analysis.closed_form->agrees()) : Json(nullptr)}};
}

Json roofline_json(const PointAnalysis& analysis) {
  const std::optional<AnalyticBound>& roofline = analysis.point->analytic.roofline;
  if (!roofline) {
    return nullptr;
  }
  return {{"step_time_us", to_microseconds(roofline->time)},
          {"bound", roofline->resource},
          {"share", optional_json(analysis.roofline_share)}};
}

Json round_json(const std::optional<AnalyticBound>& round) {
  if (!round) {
    return nullptr;
  }
  return {{"time_us", to_microseconds(round->time)}, {"bound", round->resource}};
}

Json tpot_json(std::span<const StepTime> steps) {
  const std::optional<Seconds> tpot = tpot_of(steps);
  return tpot ? Json(to_microseconds(*tpot)) : Json(nullptr);
}

Json lengths_json(std::span<const StepTime> steps) {
  Json lengths = Json::array();
  for (const StepTime& step : steps) {
    lengths.push_back(to_microseconds(step.length()));
  }
  return lengths;
}

Json waves_json(const PointAnalysis& analysis) {
  Json json = Json::array();
  for (const WaveAnalysis& wave : analysis.waves) {
    json.push_back({{"first_request", wave.requests.first.value()},
                    {"step_times_us", lengths_json(wave.steps)},
                    {"tpot_us", tpot_json(wave.steps)},
                    {"ledger", ledger_json(wave.ledgers.front())}});
  }
  return json;
}

/// Of requests that are alike, nothing more than the waves say.
Json requests_json(const RunConfig& config, const PointAnalysis& analysis) {
  if (!analysis.mixed) {
    return nullptr;
  }
  const std::vector<std::size_t> contexts = request_contexts(config, analysis.point->context);
  Json json = Json::array();
  for (std::size_t request = 0; request < contexts.size(); ++request) {
    const std::vector<StepTime>& steps = analysis.requests[request];
    json.push_back({{"request", request},
                    {"context", contexts[request]},
                    {"step_times_us", lengths_json(steps)},
                    {"tpot_us", tpot_json(steps)}});
  }
  return json;
}

void put_point(Json& json, const RunConfig& config, const PointAnalysis& analysis) {
  json["result"] = analysis.index;
  json["block"] = name_of(analysis.point->block);
  json["arrangement"] = name_of(config.arrangement);
  json["current_token"] = name_of(config.current_token);
  json["accounting"] = name_of(config.accounting);
  json["attention_form"] = name_of(config.attention.form);
  json["cache_growth"] = name_of(config.attention.growth);
  json["context"] = analysis.point->context;
  json["batch"] = config.workload.batch;
  json["in_flight"] = config.workload.in_flight;
  json["tokens"] = analysis.steps().size();
  json["resident_requests"] = config.workload.requests();
  json["resident_kv_bytes"] = analysis.resident_kv.value();
}

void put_times(Json& json, const PointAnalysis& analysis) {
  put_time(json, "stack_time", analysis.stack_time());
  put_time(json, "step_time", analysis.step_time());
  json["step_times_us"] = lengths_json(analysis.steps());
  const std::optional<Seconds> tpot = analysis.speed.tpot;
  json["tpot_us"] = tpot ? Json(to_microseconds(*tpot)) : Json(nullptr);
  json["drained_us"] = to_microseconds(analysis.drained);
  json["tokens_per_s"] = analysis.speed.tokens_per_s;
  json["tokens_per_s_per_user"] = analysis.speed.tokens_per_s_per_user;
}

/// Against every other block order at the same context.
Json speedups_json(const PointAnalysis& analysis, std::span<const PointAnalysis> analyses) {
  Json json = Json::object();
  for (const PointAnalysis& other : analyses) {
    if (other.index != analysis.index && other.point->context == analysis.point->context) {
      json[std::string(name_of(other.point->block))] = speedup(analysis, other);
    }
  }
  return json;
}

void put_sides(Json& json, const LayerSides& sides) {
  json["t_a_layer_us"] = to_microseconds(sides.t_a);
  json["t_f_layer_us"] = to_microseconds(sides.t_f);
  json["t_a2f_layer_us"] = to_microseconds(sides.t_a2f);
  json["t_f2a_layer_us"] = to_microseconds(sides.t_f2a);
  json["balance_ratio"] = optional_json(sides.balance_ratio);
}

Json crossover_json(const Crossover& crossover) {
  const bool found = crossover.state == CrossoverState::found;
  return {{"name", name_of(crossover.kind)},
          {"block", name_of(crossover.block)},
          {"state", name_of(crossover.state)},
          {"simulated_positions", found ? Json(crossover.simulated) : Json(nullptr)},
          {"closed_form_positions", optional_json(crossover.closed_form)},
          {"closed_form_at_achieved_positions", optional_json(crossover.achieved)}};
}

/// Those of the point's own block order, by name; only the latency crossover differs among them.
Json own_crossovers_json(const RunResult& result, BlockOrder block) {
  Json json = Json::object();
  for (const Crossover& crossover : result.crossovers) {
    if (crossover.block == block || crossover.kind != CrossoverKind::latency) {
      json[fmt::format("{}_positions", name_of(crossover.kind))] =
          crossover_json(crossover)["simulated_positions"];
    }
  }
  return json;
}

Json dram_json(const std::vector<DramUse>& uses) {
  Json json = Json::array();
  for (const DramUse& use : uses) {
    const dram::Counters& counters = use.counters;
    json.push_back({{"device", use.device},
                    {"dram", use.dram},
                    {"moved_bytes", use.moved.value()},
                    {"bus_busy_us", to_microseconds(use.busy)},
                    {"read_bursts", counters.read_bursts},
                    {"write_bursts", counters.write_bursts},
                    {"row_hit_share", use.hit_share},
                    {"activates", counters.activates},
                    {"refreshes", counters.refreshes()},
                    {"energy_joules", optional_json(use.joules)}});
  }
  return json;
}

Json result_json(const RunResult& result, const PointAnalysis& analysis,
                 std::span<const PointAnalysis> analyses) {
  Json json;
  put_point(json, result.config, analysis);
  put_times(json, analysis);
  json["speedup_vs"] = speedups_json(analysis, analyses);
  json["ledger"] = ledger_json(analysis.ledger());
  json["waves"] = waves_json(analysis);
  json["requests"] = requests_json(result.config, analysis);
  json["traffic_first_step"] = traffic_json(analysis.traffic);
  json["traffic_all_steps"] = traffic_json(analysis.whole_traffic);
  json["resources_first_step"] = use_json(analysis.use);
  put_sides(json, analysis.sides);
  json["share_of_peak_first_step"] = loads_json(analysis.loads);
  json["bound"] = {{"resource", analysis.bound.resource},
                   {"time_us", to_microseconds(analysis.bound.time)},
                   {"share", analysis.bound.share}};
  json["dram"] = dram_json(dram_use_of(result.config, analysis.point->table));
  json["crossovers"] = own_crossovers_json(result, analysis.point->block);
  json["closed_form"] = closed_form_json(analysis);
  json["roofline"] = roofline_json(analysis);
  json["round_bound"] = round_json(analysis.point->analytic.round);
  const std::optional<NumericReport>& numerics = analysis.point->numerics;
  json["numerics"] = numerics ? numeric_verdict_json(*numerics) : Json(nullptr);
  return json;
}

}  // namespace

nlohmann::ordered_json summary_json(const RunResult& result,
                                    std::span<const PointAnalysis> analyses) {
  Json json;
  json["tool"] = "qfsim";
  json["format"] = summary_format;
  json["name"] = result.config.name;
  json["config"] = config_json(result.config);
  json["results"] = Json::array();
  for (const PointAnalysis& analysis : analyses) {
    json["results"].push_back(result_json(result, analysis, analyses));
  }
  json["crossovers"] = Json::array();
  for (const Crossover& crossover : result.crossovers) {
    json["crossovers"].push_back(crossover_json(crossover));
  }
  return json;
}

}  // namespace qfs
