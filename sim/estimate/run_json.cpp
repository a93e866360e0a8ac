#include <nlohmann/json.hpp>

#include "sim/estimate/run_report.hpp"
#include "sim/estimate/run_shared.hpp"

namespace qfs::estimate {
namespace {

using Json = nlohmann::ordered_json;

void add_work(Json& json, const DecodeWork& work) {
  json["launches"] = work.launches;
  json["macs"] = work.macs.value();
  json["exps"] = work.exps.value();
  json["logical_accesses"] = work.accesses;
  json["weight_bytes"] = work.weight_bytes.value();
  json["kv_read_bytes"] = work.kv_read_bytes.value();
  json["kv_written_bytes"] = work.kv_written_bytes.value();
  json["activation_bytes"] = work.activation_bytes.value();
  json["memory_bytes"] = work.memory_bytes().value();
}

Json operation_json(const RunConfig& config, const OperationEstimate& operation) {
  Json json{{"operation", operation.name}, {"device", device_name(config, operation)}};
  add_work(json, operation.work);
  json["closed_form_us"] = to_microseconds(operation.alone);
  json["roofline_us"] = to_microseconds(operation.roofline);
  json["roofline_bound"] = name_of(operation.bound);
  return json;
}

/// Wire and work are alike from `first` to `last`; each has its own time.
Json layers_json(const RunConfig& config, const std::vector<LayerEstimate>& layers,
                 std::size_t first, std::size_t last) {
  const LayerEstimate& layer = layers[first];
  Json json{{"part", first == config.model.layers ? "lm_head" : "layers"}};
  if (first < config.model.layers) {
    json["first"] = first;
    json["last"] = last;
  }
  add_work(json, layer.work);
  json["wire_bytes"] = layer.wire_bytes.value();
  json["messages"] = layer.messages;
  json["closed_form_us"] = Json::array();
  for (std::size_t i = first; i <= last; ++i) {
    json["closed_form_us"].push_back(to_microseconds(layers[i].closed_form));
  }
  json["roofline_us"] = to_microseconds(layer.roofline);
  json["roofline_bound"] = name_of(layer.bound);
  json["operations"] = Json::array();
  for (const OperationEstimate& operation : layer.operations) {
    json["operations"].push_back(operation_json(config, operation));
  }
  return json;
}

Json step_json(const RunConfig& config, const StepEstimate& step) {
  Json json{{"step", step.step}, {"wave", step.wave}};
  add_work(json, step.work);
  json["wire_bytes"] = step.wire_bytes.value();
  json["messages"] = step.messages;
  json["closed_form_us"] = to_microseconds(step.closed_form);
  json["roofline_us"] = nullptr;
  json["roofline_bound"] = nullptr;
  if (step.roofline) {
    json["roofline_us"] = to_microseconds(step.roofline->time);
    json["roofline_bound"] = name_of(step.roofline->bound);
  }
  json["parts"] = Json::array();
  for (std::size_t first = 0; first < step.layers.size();) {
    const std::size_t last = last_alike(step.layers, first);
    json["parts"].push_back(layers_json(config, step.layers, first, last));
    first = last + 1;
  }
  return json;
}

Json point_json(const RunConfig& config, const PointEstimate& point) {
  Json json{{"context", point.context},
            {"block", name_of(point.block)},
            {"status", point.decode ? "complete" : "unavailable"},
            {"diagnoses", point.not_covered}};
  if (point.decode) {
    json["closed_form_stack_us"] = to_microseconds(point.decode->stack_time);
    json["steps"] = Json::array();
    for (const StepEstimate& step : point.decode->steps) {
      json["steps"].push_back(step_json(config, step));
    }
  }
  return json;
}

}  // namespace

std::string run_json(const RunConfig& config, const RunEstimate& estimate) {
  Json json{{"name", config.name},
            {"model", config.model.name},
            {"arrangement", name_of(config.arrangement)},
            {"accounting", name_of(config.accounting)},
            {"current_token", name_of(config.current_token)},
            {"batch", config.workload.batch},
            {"in_flight", config.workload.in_flight},
            {"tokens", config.workload.tokens},
            {"not_counted", estimate.not_counted},
            {"results", Json::array()}};
  for (const PointEstimate& point : estimate.points) {
    json["results"].push_back(point_json(config, point));
  }
  return json.dump(2) + "\n";
}

}  // namespace qfs::estimate
