#include "sim/config/system_config.hpp"

#include <cstdint>

#include "kernels/format.hpp"

namespace qfs {
namespace {

/// 001 section 4: reading Wo beside the cache, at its bandwidth, costs a wave more than it saves
/// the pool and the round trip.
Projections projections_of(const RunConfig& config) {
  switch (config.pool.projections) {
    case ProjectionsChoice::cache_side:
      return Projections::cache_side;
    case ProjectionsChoice::pool:
      return Projections::pool;
    case ProjectionsChoice::per_wave:
      break;
  }
  const Bytes wo = o_weight_bytes(config.model, config.numerics.formats.weights);
  const Seconds round_trip = 2 * config.link.latency;
  const double pays_from = (wo / config.cache_device.bandwidth).value() /
                           (round_trip + wo / config.compute_device.bandwidth).value();
  return static_cast<double>(config.workload.batch) < pays_from ? Projections::pool
                                                                : Projections::cache_side;
}

}  // namespace

bool has_own_requests(const RunConfig& config, std::size_t context) {
  const Workload& workload = config.workload;
  return (!workload.request_contexts.empty() || !workload.request_tokens.empty()) &&
         context == workload.context;
}

std::vector<std::size_t> request_contexts(const RunConfig& config, std::size_t context) {
  const Workload& workload = config.workload;
  const bool own = has_own_requests(config, context) && !workload.request_contexts.empty();
  const std::vector<std::size_t> wave =
      own ? workload.request_contexts : std::vector<std::size_t>(workload.batch, context);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < workload.in_flight; ++i) {
    all.insert(all.end(), wave.begin(), wave.end());
  }
  return all;
}

std::vector<std::size_t> request_tokens(const RunConfig& config, std::size_t context) {
  const Workload& workload = config.workload;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < workload.in_flight && has_own_requests(config, context); ++i) {
    all.insert(all.end(), workload.request_tokens.begin(), workload.request_tokens.end());
  }
  return all;
}

Bytes resident_kv_bytes(const RunConfig& config, std::size_t context) {
  const ModelShape& model = config.model;
  const std::vector<std::size_t> contexts = request_contexts(config, context);
  const std::vector<std::size_t> tokens = request_tokens(config, context);
  std::size_t rows = 0;
  for (std::size_t request = 0; request < contexts.size(); ++request) {
    rows += contexts[request] + (tokens.empty() ? config.workload.tokens : tokens[request]);
  }
  const std::size_t position =
      2 * model.layers * model.kv_heads * row_bytes(config.numerics.formats.kv, model.head_dim);
  return Bytes(static_cast<std::int64_t>(rows * position));
}

SystemConfig system_config(const RunConfig& config, BlockOrder block, std::size_t context) {
  const Workload& workload = config.workload;
  const bool pooled = config.arrangement == Arrangement::pooled;
  const bool parallel = config.arrangement == Arrangement::tensor_parallel;
  const bool has_cache_devices = config.arrangement == Arrangement::two_device || pooled;
  const Projections projections = pooled ? projections_of(config) : Projections::cache_side;
  SystemConfig system;
  system.arrangement = config.arrangement;
  system.pool.instances = config.pool.instances;
  system.pool.projections = projections;
  system.pool.batching = {config.pool.batching, config.pool.sweep_batch, config.pool.window};
  system.ports = config.cache.ports;
  system.cache = config.cache.policy;
  system.compute_device = config.compute_device;
  system.cache_device = config.cache_device;
  system.link = config.link;
  system.rules = {config.model, config.numerics.formats, config.accounting, config.attention};
  system.graph.block = block;
  system.graph.current_token = config.current_token;
  system.graph.lm_head = workload.lm_head;
  system.graph.contexts = request_contexts(config, context);
  system.graph.tokens = workload.tokens;
  system.graph.request_tokens = request_tokens(config, context);
  system.graph.split = has_cache_devices ? config.cache.split : CacheSplit{};
  system.graph.ranks = parallel ? config.tensor_parallel.devices : 1;
  system.graph.fuse_qkv = !pooled;
  system.graph.hold_residual = projections == Projections::pool;
  system.graph.softmax = config.attention.softmax;
  system.wave = workload.batch;
  system.disturbances = config.faults;
  system.fault = config.numerics.inject;
  return system;
}

std::size_t alike_requests(const RunConfig& config, std::size_t context) {
  const bool pooled = config.arrangement == Arrangement::pooled;
  const bool has_cache_devices = config.arrangement == Arrangement::two_device || pooled;
  const PoolSettings& pool = config.pool;
  const bool alone = pool.batching == Gather::request || pool.sweep_batch == Gather::request;
  const bool apart = pooled && (pool.instances > 1 || pool.window > Seconds(0) || alone);
  const CacheConfig& cache = config.cache;
  const bool uneven =
      has_cache_devices && cache.split.devices > 1 && cache.split.by == SplitBy::any;
  const bool together = !has_own_requests(config, context) && !apart && !uneven &&
                        !config.faults.any() && cache.policy.prefetch.ahead == 0;
  return together ? config.workload.batch : 1;
}

SystemConfig timing_config(const RunConfig& config, BlockOrder block, std::size_t context) {
  SystemConfig system = system_config(config, block, context);
  system.fault = {};  // strikes values only
  system.rules.alike = alike_requests(config, context);
  if (system.rules.alike > 1) {
    system.graph.contexts.assign(config.workload.in_flight, context);
    system.wave = 1;
  }
  return system;
}

}  // namespace qfs
