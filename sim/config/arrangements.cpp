// What contradicts the arrangement: its devices, its batching and what it can keep.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "sim/config/checker.hpp"
#include "sim/config/quantity.hpp"
#include "sim/config/schema.hpp"
#include "sim/config/system_config.hpp"
#include "system/disturbed.hpp"

namespace qfs::config {
namespace {

bool has_cache_devices(const RunConfig& run) {
  return run.arrangement == Arrangement::two_device || run.arrangement == Arrangement::pooled;
}

void check_split(const Checker& check) {
  const CacheSplit& split = check.run.cache.split;
  if (!has_cache_devices(check.run)) {
    return;
  }
  if (split.by == SplitBy::heads && check.run.model.kv_heads % split.devices != 0) {
    complain(check.cause("cache.devices", {"cache.devices", "cache.split", "model.kv_heads"}),
             "cache.devices", format_count(split.devices),
             fmt::format("a divisor of model.kv_heads ({}) with split heads",
                         format_count(check.run.model.kv_heads)));
  }
}

/// A split at random is drawn position by position.
void check_drawn_positions(const Checker& check, std::size_t context, const std::string& key) {
  const RunConfig& run = check.run;
  double positions = 0;
  for (const std::size_t cached : request_contexts(run, context)) {
    positions += static_cast<double>(cached);
  }
  if (has_cache_devices(run) && run.cache.split.by == SplitBy::any &&
      positions > static_cast<double>(most_drawn_positions)) {
    complain(check.cause("cache.split", {key, "workload.batch", "workload.in_flight",
                                         "workload.request_contexts", "cache.split"}),
             "cache.split",
             fmt::format("any, which draws each of {:.0f} positions at context {}", positions,
                         format_count(context)),
             fmt::format("up to {} positions of all requests with split any",
                         format_count(most_drawn_positions)));
  }
}

void check_ranks(const Checker& check) {
  const RunConfig& run = check.run;
  const ModelShape& model = run.model;
  const std::size_t common =
      std::gcd(std::gcd(model.heads, model.kv_heads), std::gcd(model.ffn, model.vocab));
  if (run.arrangement == Arrangement::tensor_parallel &&
      common % run.tensor_parallel.devices != 0) {
    complain(check.cause("tensor_parallel.devices",
                         {"tensor_parallel.devices", "model.heads", "model.kv_heads", "model.ffn",
                          "model.vocab", "model"}),
             "tensor_parallel.devices", format_count(run.tensor_parallel.devices),
             fmt::format("a divisor above 1 of model.heads ({}), kv_heads ({}), ffn ({}) and vocab "
                         "({})",
                         format_count(model.heads), format_count(model.kv_heads),
                         format_count(model.ffn), format_count(model.vocab)));
  }
}

void check_request_list(const Checker& check, const std::vector<std::size_t>& list,
                        const std::string& path) {
  const std::size_t batch = check.run.workload.batch;
  if (!list.empty() && list.size() != batch) {
    complain(check.cause(path, {path, "workload.batch"}), path,
             fmt::format("{} of them", list.size()),
             fmt::format("one for each request of a wave, workload.batch ({})", batch));
  }
}

void check_requests(const Checker& check) {
  const Workload& workload = check.run.workload;
  check_request_list(check, workload.request_contexts, "workload.request_contexts");
  const std::string path = "workload.request_tokens";
  const std::vector<std::size_t>& tokens = workload.request_tokens;
  check_request_list(check, tokens, path);
  if (tokens.empty()) {
    return;
  }
  if (const std::size_t most = *std::max_element(tokens.begin(), tokens.end());
      most != workload.tokens) {
    complain(check.cause(path, {path, "workload.tokens"}), path, fmt::format("{} at most", most),
             fmt::format("workload.tokens ({}) as the most of them", workload.tokens));
  }
}

/// Only two_device's cache devices are idle for long, and only there is the schedule of blocks
/// known ahead.
void check_cache_policy(const Checker& check) {
  const CachePolicy& policy = check.run.cache.policy;
  if (check.run.arrangement != Arrangement::pooled) {
    return;
  }
  if (policy.prefetch.ahead > 0) {
    complain(check.cause("cache.prefetch.ahead", {"cache.prefetch.ahead", "arrangement"}),
             "cache.prefetch.ahead", format_count(policy.prefetch.ahead),
             "0 with arrangement pooled");
  }
  if (policy.append_delay > Seconds(0)) {
    complain(check.cause("cache.append_delay", {"cache.append_delay", "arrangement"}),
             "cache.append_delay", format_quantity(policy.append_delay.value(), Dimension::time),
             "0 s with arrangement pooled");
  }
}

/// What the ranges of the single keys leave.
void check_faults(const Checker& check) {
  const RunConfig& run = check.run;
  try {
    require_possible(run.faults, layout_of(system_config(run, run.block, run.workload.context)));
  } catch (const ImpossibleDisturbance& error) {
    complain(check.cause(error.key(), {error.key(), "arrangement", "pool.instances", "faults"}),
             error.key(), error.given(), error.legal());
  }
}

void check_window(const Checker& check) {
  const PoolSettings& pool = check.run.pool;
  const bool gathers = pool.batching == Gather::ready || pool.sweep_batch == Gather::ready;
  if (check.run.arrangement == Arrangement::pooled && pool.window > Seconds(0) && !gathers) {
    complain(check.cause("pool.window", {"pool.window", "pool.batching", "pool.sweep_batch"}),
             "pool.window",
             fmt::format("{}, but no launch takes what is ready",
                         format_quantity(pool.window.value(), Dimension::time)),
             "0 s, or pool.batching or pool.sweep_batch ready");
  }
}

/// Its queries read the network's input in every layer, and a pool that makes them would have to
/// keep it.
void check_single_q(const Checker& check) {
  const RunConfig& run = check.run;
  const bool compared =
      std::find(run.compare.begin(), run.compare.end(), BlockOrder::single_q) != run.compare.end();
  if (run.arrangement != Arrangement::pooled || (run.block != BlockOrder::single_q && !compared) ||
      system_config(run, run.block, run.workload.context).pool.projections != Projections::pool) {
    return;
  }
  const bool chosen = run.pool.projections == ProjectionsChoice::per_wave;
  complain(
      check.cause("pool.projections",
                  {"pool.projections", "block", "compare", "workload.batch", "arrangement"}),
      "pool.projections",
      fmt::format("{}, with {} single_q, whose queries read the network's input, which a "
                  "stateless pool does not keep",
                  chosen ? fmt::format("per_wave (pool at batch {})", run.workload.batch) : "pool",
                  compared ? "compare" : "block"),
      "cache_side with single_q");
}

}  // namespace

void check_arrangement(const Checker& check) {
  check_split(check);
  check_drawn_positions(check, check.run.workload.context, "workload.context");
  for (const std::size_t context : check.run.workload.contexts) {
    check_drawn_positions(check, context, "workload.contexts");
  }
  check_ranks(check);
  check_requests(check);
  check_window(check);
  check_single_q(check);
  check_cache_policy(check);
  check_faults(check);
}

}  // namespace qfs::config
