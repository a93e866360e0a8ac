#include "sim/config/system_config.hpp"

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

std::vector<std::size_t> request_contexts(const RunConfig& config, std::size_t context) {
  const Workload& workload = config.workload;
  const bool own = !workload.request_contexts.empty() && context == workload.context;
  std::vector<std::size_t> wave =
      own ? workload.request_contexts : std::vector<std::size_t>(workload.batch, context);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < workload.in_flight; ++i) {
    all.insert(all.end(), wave.begin(), wave.end());
  }
  return all;
}

SystemConfig system_config(const RunConfig& config, BlockOrder block, std::size_t context) {
  const Workload& workload = config.workload;
  const bool pooled = config.arrangement == Arrangement::pooled;
  const bool parallel = config.arrangement == Arrangement::tensor_parallel;
  const bool has_cache_devices = config.arrangement == Arrangement::two_device || pooled;
  const Projections projections = pooled ? projections_of(config) : Projections::cache_side;
  return {.arrangement = config.arrangement,
          .pool = {config.pool.instances,
                   projections,
                   {config.pool.batching, config.pool.sweep_batch, config.pool.window}},
          .ports = config.cache.ports,
          .compute_device = config.compute_device,
          .cache_device = config.cache_device,
          .link = config.link,
          .rules = {config.model, config.numerics.formats, config.accounting, config.attention},
          .graph = {.block = block,
                    .current_token = config.current_token,
                    .lm_head = workload.lm_head,
                    .contexts = request_contexts(config, context),
                    .tokens = workload.tokens,
                    .split = has_cache_devices ? config.cache.split : CacheSplit{},
                    .ranks = parallel ? config.tensor_parallel.devices : 1,
                    .fuse_qkv = !pooled,
                    .hold_residual = projections == Projections::pool},
          .wave = workload.batch,
          .fault = config.numerics.inject};
}

}  // namespace qfs
