#include "sim/run/points.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "analysis/roofline.hpp"
#include "decode/cache_split.hpp"

namespace qfs {
namespace {

std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

/// What a measured kernel takes.
Seconds kernel_time(const DeviceCost& cost, CacheState cache, const AnalyticKernel& kernel) {
  switch (kernel.kind) {
    case AnalyticKernel::Kind::product:
      return launch_time(cost,
                         ProductWork{count(kernel.rows), count(kernel.outputs),
                                     count(kernel.inputs), count(kernel.element_bytes)},
                         cache);
    case AnalyticKernel::Kind::sweep:
      return launch_time(
          cost,
          SweepWork{count(kernel.rows), count(kernel.heads), count(kernel.kv_heads),
                    count(kernel.head_dim), count(kernel.positions), count(kernel.element_bytes)},
          cache);
    case AnalyticKernel::Kind::copy:
      break;
  }
  return copy_time(cost, kernel.bytes);
}

AnalyticDevice analytic_device(const DeviceConfig& device) {
  AnalyticDevice analytic{
      device.bandwidth, device.mac_rate, device.exp_rate, device.launch_overhead, {}};
  if (device.kernels) {
    analytic.kernel_time = [cost = device.kernels->cost,
                            cache = device.last_level_cache](const AnalyticKernel& kernel) {
      return kernel_time(cost, cache, kernel);
    };
  }
  return analytic;
}

template <class Value>
void add_once(std::vector<Value>& values, const std::vector<Value>& more) {
  for (const Value& value : more) {
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(value);
    }
  }
}

/// Rows of each request and shard before the first token, where the closed form cannot know them.
std::vector<std::vector<std::size_t>> scattered_rows(const RunConfig& config,
                                                     const CacheSplit& split, std::size_t context) {
  std::vector<std::vector<std::size_t>> rows;
  if (split.by != SplitBy::any) {
    return rows;
  }
  for (const std::size_t cached : request_contexts(config, context)) {
    const ShardPlan plan(split, rows.size(), cached, 0);
    rows.emplace_back();
    for (std::size_t shard = 0; shard < split.devices; ++shard) {
      rows.back().push_back(plan.rows(shard, 0));
    }
  }
  return rows;
}

/// Whether the closed form's one pool, which gathers whole waves, does what this one does: what is
/// ready is the whole wave where its requests are alike.
bool pool_is_simple(const RunConfig& config, std::size_t context) {
  const PoolSettings& pool = config.pool;
  const bool in_step = config.workload.in_flight == 1 && !has_own_requests(config, context);
  const auto simple = [&](Gather gather) {
    return gather == Gather::wave || (gather == Gather::ready && in_step);
  };
  return config.arrangement != Arrangement::pooled ||
         (pool.instances == 1 && pool.window == Seconds(0) && simple(pool.batching) &&
          simple(pool.sweep_batch));
}

/// Whether the requests of the point end together, which the closed form takes for granted.
bool ends_together(const RunConfig& config, std::size_t context) {
  const std::vector<std::size_t>& tokens = config.workload.request_tokens;
  const auto short_one = [&](std::size_t count) { return count != config.workload.tokens; };
  return !has_own_requests(config, context) ||
         std::none_of(tokens.begin(), tokens.end(), short_one);
}

/// Of a wave's requests; empty: alike.
std::vector<std::size_t> own_contexts(const RunConfig& config, std::size_t context) {
  return has_own_requests(config, context) ? config.workload.request_contexts
                                           : std::vector<std::size_t>{};
}

AnalyticBound bound_of(const Roofline& roofline) {
  return {roofline.time, std::string(name_of(roofline.bound))};
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

AnalyticArrangement analytic_arrangement(Arrangement arrangement) {
  switch (arrangement) {
    case Arrangement::colocated:
      return AnalyticArrangement::colocated;
    case Arrangement::two_device:
      return AnalyticArrangement::two_device;
    case Arrangement::pooled:
      return AnalyticArrangement::pooled;
    case Arrangement::tensor_parallel:
      return AnalyticArrangement::tensor_parallel;
  }
  throw std::logic_error("analytic_arrangement: unknown arrangement");
}

AnalyticParameters analytic_parameters(const RunConfig& config, BlockOrder block,
                                       std::size_t context) {
  const SystemConfig system = system_config(config, block, context);
  const CacheSplit& split = system.graph.split;
  return {.shape = config.model,
          .block = block,
          .current_token = config.current_token,
          .accounting = config.accounting,
          .formats = config.numerics.formats,
          .attention = config.attention,
          .batch = config.workload.batch,
          .in_flight = config.workload.in_flight,
          .split = split,
          .scattered_rows = scattered_rows(config, split, context),
          .own_ports = system.ports == Ports::own,
          .pooled_projections = system.pool.projections == Projections::pool,
          .ranks = system.graph.ranks,
          .context = context,
          .contexts = own_contexts(config, context),
          .tokens = config.workload.tokens,
          .lm_head = config.workload.lm_head,
          .compute = analytic_device(config.compute_device),
          .cache = analytic_device(config.cache_device),
          .link_latency = config.link.latency,
          .link_bandwidth = config.link.bandwidth,
          .link_message_overhead = config.link.message_overhead};
}

std::optional<AnalyticTimes> closed_form(const RunConfig& config, BlockOrder block,
                                         std::size_t context) {
  if (!ends_together(config, context) || !pool_is_simple(config, context) ||
      config.attention.softmax.is_calibrated()) {
    return std::nullopt;
  }
  return analytic_times(analytic_arrangement(config.arrangement),
                        analytic_parameters(config, block, context));
}

InputsConfig inputs_config(const RunConfig& config) {
  return {config.model,           config.numerics.formats,
          config.numerics.seed,   request_contexts(config, config.workload.context),
          config.workload.tokens, config.workload.lm_head};
}

AnalyticAnswer analytic_answer(const RunConfig& config, BlockOrder block, std::size_t context,
                               const std::optional<AchievedBandwidth>& achieved) {
  AnalyticAnswer answer;
  if (const auto times = closed_form(config, block, context)) {
    answer.stack_time = times->stack_time;
    for (const std::vector<Seconds>& ends : times->wave_step_ends) {
      answer.step_times.emplace_back();
      Seconds start(0);
      for (const Seconds end : ends) {
        answer.step_times.back().push_back(end - start);
        start = end;
      }
    }
  }
  if (achieved) {
    if (const auto times = closed_form(at_achieved(config, *achieved), block, context)) {
      answer.achieved_step_time = times->step_times.front();
    }
  }
  // Bounds hold however launches are gathered, but several instances share what one is counted for.
  if (!ends_together(config, context) ||
      (config.arrangement == Arrangement::pooled && config.pool.instances > 1)) {
    return answer;
  }
  const AnalyticArrangement arrangement = analytic_arrangement(config.arrangement);
  const AnalyticParameters parameters = analytic_parameters(config, block, context);
  answer.roofline = bound_of(step_roofline(arrangement, parameters, 0));
  if (config.workload.in_flight > 1 && pool_is_simple(config, context)) {
    answer.round = bound_of(round_bound(arrangement, parameters, 0));
  }
  return answer;
}

}  // namespace qfs
