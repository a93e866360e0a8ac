#include "analysis/roofline.hpp"

#include <algorithm>
#include <cstdint>

#include "analysis/operation_costs.hpp"

namespace qfs {
namespace {

/// The work of one step, as far as the step waits for it.
struct StepWork {
  AnalyticCost fixed;  // on the static weights
  AnalyticCost swept;  // on the cache, with the appends that the step waits for
};

StepWork step_work(const AnalyticParameters& parameters, std::size_t token) {
  const AnalyticCosts costs(parameters);
  const auto layers = static_cast<std::int64_t>(parameters.shape.layers);
  StepWork work;
  work.fixed = layers * costs.static_layer();
  if (parameters.lm_head) {
    work.fixed += costs.lm_head();
  }
  work.swept = layers * costs.sweep(costs.swept_positions(token));
  if (parameters.current_token == CurrentToken::append_first) {
    work.swept.bytes += layers * costs.append();
  }
  return work;
}

void set(Roofline& roofline, AnalyticResource resource, Seconds busy) {
  roofline.busy[static_cast<std::size_t>(resource)] = busy;
}

void set_device(Roofline& roofline, AnalyticResource memory, AnalyticResource arithmetic,
                AnalyticResource launch, const AnalyticCost& work, const AnalyticDevice& device) {
  set(roofline, memory, work.bytes / device.bandwidth);
  set(roofline, arithmetic, arithmetic_time(work, device));
  set(roofline, launch, launch_time(work, device));
}

void set_compute(Roofline& roofline, const AnalyticCost& work, const AnalyticDevice& device) {
  set_device(roofline, AnalyticResource::compute_memory, AnalyticResource::compute_arithmetic,
             AnalyticResource::compute_launch, work, device);
}

Seconds port_time(const AnalyticParameters& parameters, std::int64_t messages, Bytes bytes) {
  const Seconds overhead = static_cast<double>(messages) * parameters.link_message_overhead;
  return overhead + bytes / parameters.link_bandwidth;
}

// Towards the cache device a layer's k, v message goes out before the next layer's q, so all but
// the last count.
void set_link(Roofline& roofline, const AnalyticParameters& parameters) {
  const AnalyticCosts costs(parameters);
  const auto layers = static_cast<std::int64_t>(parameters.shape.layers);
  const bool merge = parameters.current_token == CurrentToken::merge;
  const std::int64_t kv_awaited = merge ? layers - 1 : layers;
  const std::int64_t messages = costs.fused_qkv() ? layers : layers + kv_awaited;
  const Bytes sent = layers * costs.q_message() + kv_awaited * costs.kv_message();
  set(roofline, AnalyticResource::link_to_cache, port_time(parameters, messages, sent));
  set(roofline, AnalyticResource::link_to_compute,
      port_time(parameters, layers, layers * costs.partial_message()));
}

Roofline with_bound(Roofline roofline) {
  const auto longest = std::max_element(roofline.busy.begin(), roofline.busy.end());
  roofline.time = *longest;
  roofline.bound = static_cast<AnalyticResource>(longest - roofline.busy.begin());
  return roofline;
}

}  // namespace

Roofline two_device_roofline(const AnalyticParameters& parameters, std::size_t token) {
  const StepWork work = step_work(parameters, token);
  Roofline roofline;
  set_compute(roofline, work.fixed, parameters.compute);
  set_device(roofline, AnalyticResource::cache_memory, AnalyticResource::cache_arithmetic,
             AnalyticResource::cache_launch, work.swept, parameters.cache);
  set_link(roofline, parameters);
  return with_bound(roofline);
}

Roofline colocated_roofline(const AnalyticParameters& parameters, std::size_t token) {
  StepWork work = step_work(parameters, token);
  work.fixed += work.swept;
  Roofline roofline;
  set_compute(roofline, work.fixed, parameters.compute);
  return with_bound(roofline);
}

}  // namespace qfs
