#include "tests/support/numeric_run.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "decode/check.hpp"
#include "hardware/simulated_time.hpp"
#include "system/placement.hpp"
#include "tests/support/simulated.hpp"

namespace qfs::test {
namespace {

bool writes_stream(OpKind kind) {
  return kind == OpKind::o || kind == OpKind::ffn || is_reduce(kind);
}

/// The last operation of each request's step and shard that qualifies, in that order.
template <class Qualifies>
std::vector<std::vector<float>> last_outputs(const Graph& graph, const NumericLog& log,
                                             Qualifies qualifies) {
  std::map<std::tuple<RequestId, StepId, std::size_t>, OpId> last;
  for (const Operation& op : graph.operations) {
    if (qualifies(op.kind)) {
      last[{op.request, op.step, op.shard}] = op.id;
    }
  }
  std::vector<std::vector<float>> outputs;
  for (const auto& [key, id] : last) {
    outputs.push_back(log.of(id));
  }
  return outputs;
}

}  // namespace

std::string text_of(const NumericCase& c) {
  std::string text(name_of(c.arrangement));
  const auto add = [&](std::string_view word) { text += " " + std::string(word); };
  add(name_of(c.block));
  add(name_of(c.current_token));
  add(c.formats.wire == Format::fp32 ? "fp32" : "bf16");
  if (c.arrangement == Arrangement::tensor_parallel) {
    add("ranks " + std::to_string(c.ranks));
  } else if (c.arrangement != Arrangement::colocated) {
    add("devices " + std::to_string(c.split.devices));
    add(name_of(c.split.by));
    add(name_of(c.split.merge));
    add(name_of(c.ports));
  }
  if (c.arrangement == Arrangement::pooled) {
    add("instances " + std::to_string(c.pool.instances));
    add("projections " + std::string(name_of(c.pool.projections)));
    add(name_of(c.pool.batching.products));
  }
  add(c.lm_head ? "" : "no LM head");
  return text;
}

SystemConfig system_config(const NumericCase& c) {
  SystemConfig config;
  config.arrangement = c.arrangement;
  config.pool = c.pool;
  config.ports = c.ports;
  config.compute_device.bandwidth = BytesPerSecond(3e9);
  config.compute_device.launch_overhead = Seconds(1e-6);
  config.cache_device.bandwidth = BytesPerSecond(c.cache_bytes_per_s);
  config.cache_device.launch_overhead = Seconds(0.7e-6);
  config.link.latency = Seconds(c.latency_us * 1e-6);
  config.link.bandwidth = BytesPerSecond(2e9);
  config.rules = {shape_with_heads(c.kv_heads), c.formats, Accounting::full};
  const bool pooled = c.arrangement == Arrangement::pooled;
  const bool pool_projects = pooled && c.pool.projections == Projections::pool;
  config.graph = {.block = c.block,
                  .current_token = c.current_token,
                  .lm_head = c.lm_head,
                  .contexts = c.contexts,
                  .tokens = c.tokens,
                  .split = c.split,
                  .ranks = c.ranks,
                  .fuse_qkv = !pooled,
                  .hold_residual = pool_projects};
  config.wave = c.wave;
  config.fault = c.fault;
  return config;
}

Inputs inputs_of(const NumericCase& c) {
  return Inputs({shape_with_heads(c.kv_heads), c.formats, 5, c.contexts, c.tokens, c.lm_head});
}

NumericRun run_graph(const SystemConfig& config, Graph graph, const Inputs& inputs) {
  set_femtosecond_resolution();
  const Layout layout = layout_of(config);
  const std::size_t wave = config.wave > 0 ? config.wave : config.graph.contexts.size();
  const Program program = make_program(std::move(graph), config.rules, layout, wave, config.fault);
  require_strikes(program.graph, layout, config.fault);
  System system("system", config, layout, program, &inputs, {});
  sc_core::sc_start();
  system.require_complete();
  return {check_numerics(program.graph, inputs, system.log(), config.graph),
          last_outputs(program.graph, system.log(), writes_stream),
          last_outputs(program.graph, system.log(),
                       [](OpKind kind) { return kind == OpKind::lm_head; })};
}

NumericRun run_numeric(const NumericCase& c) {
  const SystemConfig config = system_config(c);
  return run_graph(config, make_graph(config.rules.shape, config.graph), inputs_of(c));
}

}  // namespace qfs::test
