#include "analysis/roofline.hpp"

#include <algorithm>
#include <cstdint>

#include "analysis/block_reads.hpp"
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
  work.fixed = costs.static_layers();
  if (parameters.lm_head) {
    work.fixed += costs.lm_head();
  }
  work.swept = layers * costs.sweep(costs.swept_positions(token));
  if (parameters.current_token == CurrentToken::append_first) {
    work.swept.bytes += layers * costs.append(token);
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

/// Layers whose k and v the step waits for. With `merge` they are those whose messages go out
/// before the last q: of all layers but the last, or of none where every q goes first.
std::int64_t layers_awaited(const AnalyticParameters& parameters) {
  const auto layers = static_cast<std::int64_t>(parameters.shape.layers);
  if (parameters.current_token == CurrentToken::append_first) {
    return layers;
  }
  const bool all_q_first = block_reads(parameters.block).q == ReadPoint::network_input;
  return all_q_first ? 0 : layers - 1;
}

void set_link(Roofline& roofline, const AnalyticParameters& parameters) {
  const AnalyticCosts costs(parameters);
  const auto layers = static_cast<std::int64_t>(parameters.shape.layers);
  const std::int64_t kv_awaited = layers_awaited(parameters);
  const std::int64_t each = kv_together(block_reads(parameters.block)) ? 1 : 2;
  std::int64_t messages = layers + each * kv_awaited;
  for (std::size_t layer = 0; layer < parameters.shape.layers; ++layer) {
    messages -= costs.fused_qkv(layer) ? 1 : 0;  // one message for all three
  }
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
