#include "tests/support/simulated.hpp"

#include <algorithm>

namespace qfs::test {
namespace {

DeviceConfig device(const AnalyticDevice& from) {
  DeviceConfig config;
  config.bandwidth = from.bandwidth;
  config.mac_rate = from.mac_rate;
  config.exp_rate = from.exp_rate;
  config.launch_overhead = from.launch_overhead;
  return config;
}

/// Wave by wave.
std::vector<std::size_t> contexts_of(const AnalyticParameters& parameters) {
  std::vector<std::size_t> contexts;
  for (std::size_t request = 0; request < parameters.batch * parameters.in_flight; ++request) {
    contexts.push_back(parameters.context_of(request % parameters.batch));
  }
  return contexts;
}

}  // namespace

SystemConfig system_config(const AnalyticParameters& parameters, Arrangement arrangement) {
  SystemConfig config;
  config.arrangement = arrangement;
  config.compute_device = device(parameters.compute);
  config.cache_device = device(parameters.cache);
  config.link.latency = parameters.link_latency;
  config.link.bandwidth = parameters.link_bandwidth;
  config.link.message_overhead = parameters.link_message_overhead;
  config.rules = {parameters.shape, parameters.formats, parameters.accounting,
                  parameters.attention};
  const bool pooled = arrangement == Arrangement::pooled;
  config.graph = {.block = parameters.block,
                  .current_token = parameters.current_token,
                  .lm_head = parameters.lm_head,
                  .contexts = contexts_of(parameters),
                  .tokens = parameters.tokens,
                  .split = parameters.split,
                  .ranks = arrangement == Arrangement::tensor_parallel ? parameters.ranks : 1,
                  .fuse_qkv = !pooled,
                  .hold_residual = pooled && parameters.pooled_projections};
  config.ports = parameters.own_ports ? Ports::own : Ports::shared;
  config.pool.projections =
      parameters.pooled_projections ? Projections::pool : Projections::cache_side;
  config.pool.batching = {};  // by wave, as the analytic twin has it
  config.wave = parameters.batch;
  return config;
}

Femtoseconds last_output(const ExecutionTable& table, StepId step) {
  Femtoseconds last;
  for (const Row& row : table.rows) {
    if (row.is_operation() && row.op != OpKind::append && row.step == step) {
      last = std::max(last, row.end);
    }
  }
  return last;
}

ModelShape tiny_shape() {
  ModelShape shape;
  shape.hidden = 32;
  shape.layers = 3;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = 8;
  shape.ffn = 48;
  shape.vocab = 64;
  shape.tied_embedding = true;
  shape.qk_norm = true;
  return shape;
}

ModelShape shape_with_heads(std::size_t kv_heads) {
  ModelShape shape = tiny_shape();
  shape.heads = 2 * kv_heads;
  shape.kv_heads = kv_heads;
  shape.vocab = 96;
  return shape;
}

}  // namespace qfs::test
