// What a run adds up to: operations, then bytes, arithmetic and time for each of its contexts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/config/amounts.hpp"
#include "sim/config/checker.hpp"
#include "sim/config/quantity.hpp"
#include "sim/config/schema.hpp"

namespace qfs::config {
namespace {

constexpr double most_total =
    4e18;  // bytes, MACs or exponentials: below 2^62, so that sums of two fit 63 bits
constexpr double longest_run = 4500;  // seconds: half of what 63 bits of femtoseconds hold

double requests(const RunConfig& run) { return real(run.workload.requests()); }
double layers(const RunConfig& run) { return real(run.model.layers); }

/// Devices that share every sweep and append.
std::size_t cache_devices(const RunConfig& run) {
  const bool has =
      run.arrangement == Arrangement::two_device || run.arrangement == Arrangement::pooled;
  return has ? run.cache.split.devices : 1;
}

std::size_t ranks(const RunConfig& run) {
  const bool parallel = run.arrangement == Arrangement::tensor_parallel;
  return parallel ? run.tensor_parallel.devices : 1;
}

/// How often a token's step reads all weights, at most.
double weight_reads(const RunConfig& run) {
  const bool by_wave = run.arrangement != Arrangement::pooled || run.pool.batching == Gather::wave;
  return by_wave ? real(run.workload.in_flight) : requests(run);
}

double weight_traffic(const RunConfig& run) {
  return weight_reads(run) * weight_bytes(model_weights(run.model), run.numerics.formats.weights);
}

/// Bytes that the caches' holders move for a token, at most: what their form of attention reads of
/// the caches and makes besides, and what their appends copy.
double attention_traffic(const RunConfig& run, std::size_t context) {
  const CacheRows rows = cache_rows(run, context);
  double times = run.attention.growth == CacheGrowth::copying ? 3 : 1;
  double matrices = 0;
  switch (run.attention.form) {
    case AttentionForm::minimal:
      // A calibrated unit's scores, each written and read if no buffer holds them.
      matrices = run.attention.score_buffer
                     ? 2 * 4 * rows.sum * real(run.model.heads * run.model.layers)
                     : 0;
      break;
    case AttentionForm::transposed_k:
      times += 1;
      break;
    case AttentionForm::expanded_heads:
      times += 2 * real(run.model.group());
      break;
    case AttentionForm::score_matrix: {  // scores and weights, written and read, and the rows
      const double values = 4 * rows.squares + 2 * rows.sum * real(run.model.head_dim);
      matrices = 4 * values * real(run.model.heads * run.model.layers);
    }
  }
  const double cache = position_bytes(run.model, run.numerics.formats.kv) * layers(run) * rows.sum;
  return times * cache + matrices;
}

/// Pairs of a query row and a cached position that are scored in a layer.
double scores(const RunConfig& run, std::size_t context) {
  const CacheRows rows = cache_rows(run, context);
  return run.attention.form == AttentionForm::score_matrix ? rows.squares : rows.sum;
}

double token_macs(const RunConfig& run, std::size_t context) {
  const double attention = 2 * real(run.model.q_width()) * layers(run) * scores(run, context);
  return model_weights(run.model).values * requests(run) + attention;
}

double token_exps(const RunConfig& run, std::size_t context) {
  const double activations = real(run.model.ffn) * requests(run);
  return layers(run) * (real(run.model.heads) * scores(run, context) + activations);
}

/// Values that go through the memories for a layer and request, at most, as fp32: the stream, the
/// query and what the sweep makes of it, and the current key and value, which are appended too.
double activation_traffic(const RunConfig& run) {
  constexpr double times = 8;
  constexpr double value_bytes = 4;
  const ModelShape& model = run.model;
  const double values =
      real(model.hidden) + real(model.q_width()) + 2 * real(model.kv_width()) + real(model.heads);
  return times * value_bytes * values * layers(run) * requests(run);
}

/// The keys that the totals grow with, besides those of devices and link.
std::vector<std::string> keys_of_work(bool is_further_context) {
  std::vector<std::string> paths{"workload.batch",
                                 "workload.in_flight",
                                 "workload.tokens",
                                 "model.layers",
                                 "model.hidden",
                                 "model.heads",
                                 "model.kv_heads",
                                 "model.head_dim",
                                 "model.ffn",
                                 "model.vocab",
                                 "model",
                                 "numerics.kv_dtype",
                                 "numerics.weight_dtype",
                                 "attention.form",
                                 "attention.cache_growth",
                                 "cache.devices",
                                 "cache.split",
                                 "pool.projections",
                                 "tensor_parallel.devices",
                                 "arrangement"};
  if (is_further_context) {
    paths.insert(paths.begin(), "workload.contexts");
  } else {
    paths.insert(paths.begin(), {"workload.context", "workload.request_contexts"});
  }
  return paths;
}

/// What one key contributes to the time of a token.
struct Share {
  std::string path;
  double seconds;
};

/// Of a layer, at most: every product as large as the largest, and the sweep of as many.
double kernel_time(const RunConfig& run, std::size_t context, const DeviceConfig& device) {
  if (!device.kernels) {
    return 0;
  }
  const auto signed_count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  const ModelShape& model = run.model;
  const std::int64_t batch = signed_count(run.workload.batch);
  const ProductWork product{batch, signed_count(std::max(2 * model.ffn, model.q_width())),
                            signed_count(std::max(model.hidden, model.ffn)), 2};
  const SweepWork sweep{batch,
                        signed_count(model.heads),
                        signed_count(model.kv_heads),
                        signed_count(model.head_dim),
                        signed_count(context),
                        2};
  const DeviceCost& cost = device.kernels->cost;
  constexpr double products = 8;
  return products * launch_time(cost, product, CacheState::cold).value() +
         launch_time(cost, sweep, CacheState::cold).value();
}

void add_device(std::vector<Share>& shares, const RunConfig& run, std::size_t context,
                const std::string& path, const DeviceConfig& device, double held_bytes) {
  const double launches = 10 + real(cache_devices(run));  // of a layer and request, at most
  const double each = layers(run) * requests(run);
  shares.push_back(
      {path + ".bandwidth", (held_bytes + activation_traffic(run)) / device.bandwidth.value()});
  shares.push_back({path + ".mac_rate", token_macs(run, context) / device.mac_rate.value()});
  shares.push_back({path + ".exp_rate", token_exps(run, context) / device.exp_rate.value()});
  shares.push_back({path + ".launch_overhead", each * launches * device.launch_overhead.value()});
  shares.push_back({path + ".kernels", layers(run) * real(run.workload.in_flight) *
                                           kernel_time(run, context, device)});
}

/// Messages of a layer and request, at most: those of two devices or a pool, and what each further
/// cache device gets and returns, or what every rank sends to all others.
double layer_messages(const RunConfig& run) {
  const double others = real(ranks(run)) - 1;
  return others > 0 ? 2 * others : 4 + 4 * real(cache_devices(run));
}

void add_link(std::vector<Share>& shares, const RunConfig& run) {
  constexpr double value_bytes = 4;
  const double messages = layer_messages(run) * layers(run) * requests(run);
  const ModelShape& model = run.model;
  const double residuals = run.arrangement == Arrangement::two_device ? 0 : 4;
  const double values = residuals * real(model.hidden) + 2 * real(model.q_width()) +
                        2 * real(model.kv_width()) + real(model.heads);  // of a layer and request
  const double copies = real(std::max(cache_devices(run), ranks(run)));
  const double bytes = value_bytes * values * copies * layers(run) * requests(run);
  shares.push_back({"link.latency", messages * run.link.latency.value()});
  shares.push_back({"link.message_overhead", messages * run.link.message_overhead.value()});
  shares.push_back({"link.jitter", messages * run.link.jitter.value()});
  shares.push_back({"link.bandwidth", bytes / run.link.bandwidth.value()});
}

/// How long a sender waits for its time-outs before a message is through, as a mean: each is twice
/// the one before it, up to the limit of disturbances.hpp.
double retry_time(const MessageFaults& messages) {
  constexpr double longest_wait = 1;
  constexpr int tries = 1000;  // of which the first few dozen count
  double total = 0;
  double wait = messages.timeout.value_or(Seconds(0)).value();
  double still_lost = messages.lost;
  for (int i = 0; i < tries && still_lost > 0; ++i) {
    total += still_lost * wait;
    still_lost *= messages.lost;
    wait = std::min(2 * wait, longest_wait);
  }
  return total;
}

void add_faults(std::vector<Share>& shares, const RunConfig& run) {
  const Disturbances& faults = run.faults;
  const double messages = layer_messages(run) * layers(run) * requests(run);
  const double stalled = messages + (10 + real(cache_devices(run))) * layers(run) * requests(run);
  const double sendings = messages / (1 - faults.messages.lost);
  shares.push_back({"faults.stalls.longest",
                    stalled * faults.stalls.probability * faults.stalls.longest.value()});
  shares.push_back(
      {"faults.messages.delay", sendings * faults.messages.late * faults.messages.delay.value()});
  shares.push_back({"faults.messages.timeout", messages * retry_time(faults.messages)});
  double slowest = 1;
  for (const SlowDevice& slow : faults.slow) {
    slowest = std::max(slowest, slow.factor);
  }
  double worked = 0;
  for (const Share& share : shares) {
    worked += share.path.find("device") != std::string::npos ? share.seconds : 0;
  }
  shares.push_back({"faults.slow", (slowest - 1) * worked});
  for (const InstanceFault& fault : faults.instances) {
    shares.push_back({"faults.instances", fault.duration.value_or(Seconds(0)).value()});
  }
}

/// As if nothing happened beside anything else.
std::vector<Share> token_time(const RunConfig& run, std::size_t context) {
  std::vector<Share> shares;
  const double weights = weight_traffic(run);
  const double cache = attention_traffic(run, context);
  const bool pooled = run.arrangement == Arrangement::pooled;
  if (pooled || run.arrangement == Arrangement::two_device) {
    const double owned =
        pooled ? weight_reads(run) * layers(run) *
                     weight_bytes(q_and_o_weights(run.model), run.numerics.formats.weights)
               : 0;
    add_device(shares, run, context, "compute_device", run.compute_device, weights);
    add_device(shares, run, context, "cache_device", run.cache_device, owned + cache);
  } else {
    add_device(shares, run, context, "compute_device", run.compute_device, weights + cache);
  }
  if (run.arrangement != Arrangement::colocated) {
    add_link(shares, run);
  }
  shares.push_back({"cache.append_delay", layers(run) * run.cache.policy.append_delay.value()});
  add_faults(shares, run);
  return shares;
}

/// Of a request and token, at most; of several ranks with the messages among them.
double token_operations(const RunConfig& run) {
  const double parts = real(ranks(run));
  if (parts > 1) {
    const double messages = 2 * (parts - 1);
    return parts * ((10 + messages) * layers(run) + 2);
  }
  const double further = real(cache_devices(run)) - 1;
  return (8 + 2 * further) * layers(run) + 2;
}

/// The graph and the table are held in memory, a few hundred bytes an operation.
void check_operations(const Checker& check) {
  const Workload& workload = check.run.workload;
  const double each = token_operations(check.run);
  const double count = requests(check.run) * real(workload.tokens) * each;
  if (count <= most_operations) {
    return;
  }
  std::vector<std::pair<std::size_t, std::string>> factors{
      {workload.batch, "workload.batch"},
      {workload.in_flight, "workload.in_flight"},
      {workload.tokens, "workload.tokens"}};
  std::stable_sort(factors.begin(), factors.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto& [largest, path] = factors.front();
  const bool waves = workload.in_flight > 1;
  complain(
      check.cause(path, {path, factors[1].second, factors[2].second, "model.layers",
                         "cache.devices", "tensor_parallel.devices"}),
      path,
      fmt::format("{} (batch {}, {}tokens {}, layers {}: {:.0f} operations)", largest,
                  workload.batch, waves ? fmt::format("in_flight {}, ", workload.in_flight) : "",
                  workload.tokens, check.run.model.layers, count),
      fmt::format("batch * {}tokens up to {:.0f} with these layers, {:.0f} operations",
                  waves ? "in_flight * " : "", std::floor(most_operations / each),
                  most_operations));
}

void check_amounts(const Checker& check, std::size_t context,
                   const std::vector<std::string>& keys) {
  const RunConfig& run = check.run;
  const double largest = std::max({weight_traffic(run), attention_traffic(run, context),
                                   token_macs(run, context), token_exps(run, context)}) *
                         real(run.workload.tokens);
  if (largest > most_total) {
    complain(check.cause("workload", keys), "workload",
             fmt::format("{:.3g} bytes or operations in all at context {}", largest,
                         format_count(context)),
             fmt::format("up to {:.0e}: a smaller model, batch, context or tokens", most_total));
  }
}

void check_time(const Checker& check, std::size_t context, std::vector<std::string> keys) {
  const std::vector<Share> shares = token_time(check.run, context);
  double total = 0;
  for (const Share& share : shares) {
    total += share.seconds * real(check.run.workload.tokens);
  }
  if (total <= longest_run) {
    return;
  }
  const auto longest =
      std::max_element(shares.begin(), shares.end(),
                       [](const Share& a, const Share& b) { return a.seconds < b.seconds; });
  keys.insert(keys.begin(), longest->path);
  complain(
      check.cause("workload", keys), "workload",
      fmt::format("could take {:.3g} s of simulated time at context {}, most of it for {}", total,
                  format_count(context), longest->path),
      fmt::format("up to {:.0f} s, since the clock counts femtoseconds in 64 bits", longest_run));
}

void check_context(const Checker& check, std::size_t context,
                   const std::vector<std::string>& keys) {
  check_amounts(check, context, keys);
  check_time(check, context, keys);
  check_capacity(check, context, keys);
}

}  // namespace

void check_totals(const Checker& check) {
  check_context(check, check.run.workload.context, keys_of_work(false));
  for (const std::size_t context : check.run.workload.contexts) {
    check_context(check, context, keys_of_work(true));
  }
  check_operations(check);
}

}  // namespace qfs::config
