#include "sim/run/points.hpp"

#include <algorithm>

#include "analysis/closed_form.hpp"
#include "analysis/roofline.hpp"

namespace qfs {
namespace {

AnalyticDevice analytic_device(const DeviceConfig& device) {
  return {device.bandwidth, device.mac_rate, device.exp_rate, device.launch_overhead};
}

template <class Value>
void add_once(std::vector<Value>& values, const std::vector<Value>& more) {
  for (const Value& value : more) {
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(value);
    }
  }
}

}  // namespace

std::vector<BlockOrder> blocks_of(const RunConfig& config) {
  std::vector<BlockOrder> blocks{config.block};
  add_once(blocks, config.compare);
  return blocks;
}

std::vector<std::size_t> contexts_of(const RunConfig& config) {
  std::vector<std::size_t> contexts{config.workload.context};
  add_once(contexts, config.workload.contexts);
  return contexts;
}

AnalyticParameters analytic_parameters(const RunConfig& config, BlockOrder block,
                                       std::size_t context) {
  return {.shape = config.model,
          .block = block,
          .current_token = config.current_token,
          .accounting = config.accounting,
          .formats = config.numerics.formats,
          .attention = config.attention,
          .batch = config.workload.batch,
          .in_flight = config.workload.in_flight,
          .context = context,
          .tokens = config.workload.tokens,
          .lm_head = config.workload.lm_head,
          .compute = analytic_device(config.compute_device),
          .cache = analytic_device(config.cache_device),
          .link_latency = config.link.latency,
          .link_bandwidth = config.link.bandwidth,
          .link_message_overhead = config.link.message_overhead};
}

InputsConfig inputs_config(const RunConfig& config) {
  return {config.model,           config.numerics.formats,
          config.numerics.seed,   request_contexts(config, config.workload.context),
          config.workload.tokens, config.workload.lm_head};
}

AnalyticAnswer analytic_answer(const RunConfig& config, BlockOrder block, std::size_t context) {
  const AnalyticParameters parameters = analytic_parameters(config, block, context);
  const bool colocated = config.arrangement == Arrangement::colocated;
  const AnalyticTimes times =
      colocated ? colocated_times(parameters) : two_device_times(parameters);
  const Roofline roofline =
      colocated ? colocated_roofline(parameters, 0) : two_device_roofline(parameters, 0);
  return {times.stack_time, times.step_times, roofline.time, std::string(name_of(roofline.bound))};
}

}  // namespace qfs
