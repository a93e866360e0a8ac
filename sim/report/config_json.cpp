#include "sim/report/config_json.hpp"

#include <cmath>

#include "sim/report/block_note.hpp"

namespace qfs {
namespace {

using Json = nlohmann::ordered_json;

Json rate_in(double per_second, double unit) {
  return std::isfinite(per_second) ? Json(per_second / unit) : Json(nullptr);
}

Json model_json(const ModelShape& shape) {
  return {{"name", shape.name},
          {"hidden", shape.hidden},
          {"layers", shape.layers},
          {"heads", shape.heads},
          {"kv_heads", shape.kv_heads},
          {"head_dim", shape.head_dim},
          {"ffn", shape.ffn},
          {"vocab", shape.vocab},
          {"weight_bytes", model_weight_bytes(shape).value()}};
}

Json device_json(const DeviceConfig& device) {
  return {{"preset", device.preset},
          {"memory", name_of(device.memory)},
          {"bandwidth_gb_per_s", rate_in(device.bandwidth.value(), 1e9)},
          {"capacity_bytes", device.capacity ? Json(device.capacity->value()) : Json(nullptr)},
          {"mac_rate_tmac_per_s", rate_in(device.mac_rate.value(), 1e12)},
          {"exp_rate_texp_per_s", rate_in(device.exp_rate.value(), 1e12)},
          {"launch_overhead_us", to_microseconds(device.launch_overhead)}};
}

Json link_json(const LinkConfig& link) {
  return {{"preset", link.preset},
          {"latency_us", to_microseconds(link.latency)},
          {"bandwidth_gb_per_s", rate_in(link.bandwidth.value(), 1e9)},
          {"message_overhead_us", to_microseconds(link.message_overhead)},
          {"jitter_us", to_microseconds(link.jitter)},
          {"jitter_seed", link.jitter_seed}};
}

Json workload_json(const Workload& workload) {
  return {{"batch", workload.batch},
          {"context", workload.context},
          {"contexts", workload.contexts},
          {"tokens", workload.tokens},
          {"lm_head", workload.lm_head}};
}

Json inject_json(const Fault& fault) {
  if (fault.kind == FaultKind::none) {
    return nullptr;
  }
  return {
      {"kind", name_of(fault.kind)}, {"layer", fault.layer.value()}, {"step", fault.step.value()}};
}

Json numerics_config_json(const Numerics& numerics) {
  return {{"mode", name_of(numerics.mode)},
          {"check", name_of(numerics.check)},
          {"seed", numerics.seed},
          {"kv_dtype", name_of(numerics.formats.kv)},
          {"wire_dtype", name_of(numerics.formats.wire)},
          {"residual_wire_dtype", name_of(numerics.formats.residual_wire)},
          {"inject", inject_json(numerics.inject)}};
}

Json block_json(BlockOrder block) {
  const BlockNote note = block_note(block);
  return {{"block", name_of(block)},
          {"runs_existing_checkpoint_unchanged", note.runs_existing_checkpoint},
          {"bits_per_byte_against_control", note.bits_per_byte},
          {"control", name_of(note.control)},
          {"source", "document 001, trained so"}};
}

Json blocks_json(const RunConfig& config) {
  Json blocks = Json::array({block_json(config.block)});
  for (const BlockOrder block : config.compare) {
    blocks.push_back(block_json(block));
  }
  return blocks;
}

}  // namespace

nlohmann::ordered_json config_json(const RunConfig& config) {
  const bool two_device = config.arrangement == Arrangement::two_device;
  Json json;
  json["model"] = model_json(config.model);
  json["arrangement"] = name_of(config.arrangement);
  json["current_token"] = name_of(config.current_token);
  json["accounting"] = name_of(config.accounting);
  json["workload"] = workload_json(config.workload);
  json["compute_device"] = device_json(config.compute_device);
  json["cache_device"] = two_device ? device_json(config.cache_device) : Json(nullptr);
  json["link"] = two_device ? link_json(config.link) : Json(nullptr);
  json["numerics"] = numerics_config_json(config.numerics);
  json["blocks"] = blocks_json(config);
  return json;
}

}  // namespace qfs
