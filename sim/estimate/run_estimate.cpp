#include "sim/estimate/run_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/run/points.hpp"

namespace qfs::estimate {
namespace {

using Reasons = std::vector<std::string>;
using Conditions = std::vector<std::pair<bool, std::string>>;

Reasons that_hold(const Conditions& conditions) {
  Reasons reasons;
  for (const auto& [holds, reason] : conditions) {
    if (holds) {
      reasons.push_back(reason);
    }
  }
  return reasons;
}

/// Why the closed form, from which everything is counted, has no answer.
Reasons why_not_covered(const RunConfig& config, std::size_t context) {
  const Workload& workload = config.workload;
  const bool pooled = config.arrangement == Arrangement::pooled;
  const PoolSettings& pool = config.pool;
  const bool own_lengths =
      has_own_requests(config, context) &&
      std::any_of(workload.request_tokens.begin(), workload.request_tokens.end(),
                  [&](std::size_t tokens) { return tokens != workload.tokens; });
  Reasons reasons = that_hold(
      {{config.attention.softmax.is_calibrated(),
        "attention: a calibrated softmax sweeps in two phases, for which there is no closed form"},
       {own_lengths,
        "workload.request_tokens: requests leave their waves at different tokens, and "
        "who is launched together changes"},
       {pooled && pool.instances > 1,
        "pool.instances: which instance a call goes to is decided while the run goes on"},
       {pooled && pool.window > Seconds(0),
        "pool.window: how many requests a launch gathers is decided while the run goes on"}});
  if (reasons.empty()) {
    reasons.emplace_back(
        "pool.batching, pool.sweep_batch: which requests a launch gathers is decided while the run "
        "goes on");
  }
  return reasons;
}

bool uses_dram(const RunConfig& config) {
  const bool cache =
      config.arrangement == Arrangement::two_device || config.arrangement == Arrangement::pooled;
  return config.compute_device.memory != MemoryTier::ideal ||
         (cache && config.cache_device.memory != MemoryTier::ideal);
}

Reasons beyond_the_count(const RunConfig& config) {
  const CachePolicy& cache = config.cache.policy;
  return that_hold(
      {{config.faults.any(), "faults: neither what is sent and done again, nor its time"},
       {cache.prefetch.ahead > 0,
        "cache.prefetch: neither the copies into the staging buffer, nor the time they save"},
       {cache.append_delay > Seconds(0), "cache.append_delay: not its time"},
       {config.arrangement != Arrangement::colocated && config.link.jitter > Seconds(0),
        "link.jitter: not its time"},
       {uses_dram(config), "DRAM timing: memories are taken at their peak bandwidth"}});
}

/// Whether there is a closed form hangs on no size: one layer tells.
bool is_covered(RunConfig config, BlockOrder block, std::size_t context) {
  config.model.layers = 1;
  return closed_form(config, block, context).has_value();
}

PointEstimate point_estimate(const RunConfig& config, BlockOrder block, std::size_t context) {
  PointEstimate point{block, context, std::nullopt, {}};
  if (is_covered(config, block, context)) {
    point.decode = decode_estimate(analytic_arrangement(config.arrangement),
                                   analytic_parameters(config, block, context));
  } else {
    point.not_covered = why_not_covered(config, context);
  }
  return point;
}

}  // namespace

RunEstimate run_estimate(const RunConfig& config) {
  RunEstimate estimate{{}, beyond_the_count(config)};
  for (const std::size_t context : contexts_of(config)) {
    for (const BlockOrder block : blocks_of(config)) {
      estimate.points.push_back(point_estimate(config, block, context));
    }
  }
  return estimate;
}

}  // namespace qfs::estimate
