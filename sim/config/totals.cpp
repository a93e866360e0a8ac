// What a run adds up to: operations, then bytes, arithmetic and time for each of its contexts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/format.hpp"
#include "sim/config/checker.hpp"
#include "sim/config/quantity.hpp"
#include "sim/config/schema.hpp"

namespace qfs::config {
namespace {

// Totals are taken in floating point, where they cannot overflow.
constexpr double most_total =
    4e18;  // bytes, MACs or exponentials: below 2^62, so that sums of two fit 63 bits
constexpr double longest_run = 4500;  // seconds: half of what 63 bits of femtoseconds hold

double real(std::size_t value) { return static_cast<double>(value); }

/// Of the weights, one row per output: their number, and how many rows they lie in.
struct WeightCount {
  double values;
  double rows;
};

WeightCount count_weights(const ModelShape& shape) {
  const double projections = 2 * (real(shape.q_width()) + real(shape.kv_width()));
  const double layer = real(shape.hidden) * (projections + 3 * real(shape.ffn));
  const double layer_rows = real(shape.q_width()) + 2 * real(shape.kv_width()) +
                            2 * real(shape.ffn) + 2 * real(shape.hidden);
  const double tables = (shape.tied_embedding ? 1 : 2) * real(shape.vocab);
  return {real(shape.layers) * layer + tables * real(shape.hidden),
          real(shape.layers) * layer_rows + tables};
}

double scale_bytes(Format format) { return real(row_bytes(format, 0)); }

double weight_bytes(const RunConfig& run) {
  const Format format = run.numerics.formats.weights;
  const WeightCount weights = count_weights(run.model);
  return weights.values * real(bytes_per_value(format)) + weights.rows * scale_bytes(format);
}

/// Positions in all caches of one layer at the end of the run.
double positions(const RunConfig& run, std::size_t context) {
  return (real(context) + real(run.workload.tokens)) * real(run.workload.batch);
}

double cache_bytes(const RunConfig& run, std::size_t context) {
  const Format format = run.numerics.formats.kv;
  const double position = 2 * (real(run.model.kv_width()) * real(bytes_per_value(format)) +
                               real(run.model.kv_heads) * scale_bytes(format));
  return position * real(run.model.layers) * positions(run, context);
}

/// Bytes that the caches' holder moves for a token, at most: what its form of attention reads of
/// them and makes besides, and what its appends copy.
double attention_bytes(const RunConfig& run, std::size_t context) {
  const double cache = cache_bytes(run, context);
  double times = run.attention.growth == CacheGrowth::copying ? 3 : 1;
  double matrices = 0;
  switch (run.attention.form) {
    case AttentionForm::minimal:
      break;
    case AttentionForm::transposed_k:
      times += 1;
      break;
    case AttentionForm::expanded_heads:
      times += 2 * real(run.model.group());
      break;
    case AttentionForm::score_matrix: {  // scores and weights, written and read, and the rows
      const double n = real(context) + real(run.workload.tokens);
      const double values = 4 * n * n + 2 * n * real(run.model.head_dim);
      matrices = 4 * values * real(run.model.heads * run.model.layers * run.workload.batch);
    }
  }
  return times * cache + matrices;
}

/// Of a layer's sweeps and appends, at most: what must lie beside the caches while they run.
double workspace_bytes(const RunConfig& run, std::size_t context) {
  const double layer = cache_bytes(run, context) / real(run.model.layers);
  const double copy = run.attention.growth == CacheGrowth::copying ? layer : 0;
  switch (run.attention.form) {
    case AttentionForm::minimal:
      return copy;
    case AttentionForm::transposed_k:
      return std::max(copy, layer / 2);
    case AttentionForm::expanded_heads:
      return std::max(copy, layer * real(run.model.group()));
    case AttentionForm::score_matrix: {
      const double n = real(context) + real(run.workload.tokens);
      return std::max(copy, 2 * 4 * n * n * real(run.model.heads * run.workload.batch));
    }
  }
  return copy;
}

/// Query rows against which each position is scored.
double scored_rows(const RunConfig& run, std::size_t context) {
  const bool square = run.attention.form == AttentionForm::score_matrix;
  return square ? real(context) + real(run.workload.tokens) : 1;
}

double token_macs(const RunConfig& run, std::size_t context) {
  const double products = count_weights(run.model).values;
  const double attention = 2 * real(run.model.q_width()) * real(run.model.layers) *
                           positions(run, context) * scored_rows(run, context);
  return products * real(run.workload.batch) + attention;
}

double token_exps(const RunConfig& run, std::size_t context) {
  const double activations = real(run.model.ffn) * real(run.workload.batch);
  const double scores = real(run.model.heads) * positions(run, context) * scored_rows(run, context);
  return real(run.model.layers) * (scores + activations);
}

/// Values that go through the memories for a layer and request, at most, as fp32: the stream, the
/// query and what the sweep makes of it, and the current key and value, which are appended too.
double activation_bytes(const RunConfig& run) {
  constexpr double times = 8;
  constexpr double value_bytes = 4;
  const ModelShape& model = run.model;
  const double values =
      real(model.hidden) + real(model.q_width()) + 2 * real(model.kv_width()) + real(model.heads);
  return times * value_bytes * values * real(model.layers) * real(run.workload.batch);
}

/// The keys that the totals grow with, besides those of devices and link.
std::vector<std::string> keys_of_work(bool is_further_context) {
  std::vector<std::string> paths{"workload.batch",    "workload.tokens",
                                 "model.layers",      "model.hidden",
                                 "model.heads",       "model.kv_heads",
                                 "model.head_dim",    "model.ffn",
                                 "model.vocab",       "model",
                                 "numerics.kv_dtype", "numerics.weight_dtype",
                                 "attention.form",    "attention.cache_growth"};
  paths.insert(paths.begin(), is_further_context ? "workload.contexts" : "workload.context");
  return paths;
}

/// What one key contributes to the time of a token.
struct Share {
  std::string path;
  double seconds;
};

void add_device(std::vector<Share>& shares, const RunConfig& run, std::size_t context,
                const std::string& path, const DeviceConfig& device, double held_bytes) {
  constexpr double launches = 8;  // of a layer and request, at most
  const double each = real(run.model.layers) * real(run.workload.batch);
  shares.push_back(
      {path + ".bandwidth", (held_bytes + activation_bytes(run)) / device.bandwidth.value()});
  shares.push_back({path + ".mac_rate", token_macs(run, context) / device.mac_rate.value()});
  shares.push_back({path + ".exp_rate", token_exps(run, context) / device.exp_rate.value()});
  shares.push_back({path + ".launch_overhead", each * launches * device.launch_overhead.value()});
}

void add_link(std::vector<Share>& shares, const RunConfig& run) {
  constexpr double value_bytes = 4;
  const double messages = 4 * real(run.model.layers) * real(run.workload.batch);  // at most
  const double values = 2 * real(run.model.q_width()) + 2 * real(run.model.kv_width()) +
                        real(run.model.heads);  // of a layer and request
  const double bytes = value_bytes * values * real(run.model.layers) * real(run.workload.batch);
  shares.push_back({"link.latency", messages * run.link.latency.value()});
  shares.push_back({"link.message_overhead", messages * run.link.message_overhead.value()});
  shares.push_back({"link.jitter", messages * run.link.jitter.value()});
  shares.push_back({"link.bandwidth", bytes / run.link.bandwidth.value()});
}

/// As if nothing happened beside anything else.
std::vector<Share> token_time(const RunConfig& run, std::size_t context) {
  std::vector<Share> shares;
  const double weights = weight_bytes(run);
  const double cache = attention_bytes(run, context);
  if (run.arrangement == Arrangement::colocated) {
    add_device(shares, run, context, "compute_device", run.compute_device, weights + cache);
    return shares;
  }
  add_device(shares, run, context, "compute_device", run.compute_device, weights);
  add_device(shares, run, context, "cache_device", run.cache_device, cache);
  add_link(shares, run);
  return shares;
}

/// The graph is held in memory, a few hundred bytes an operation.
void check_operations(const Checker& check) {
  const Workload& workload = check.run.workload;
  const double each = 8 * real(check.run.model.layers) + 2;  // of a request and token, at most
  const double count = real(workload.batch) * real(workload.tokens) * each;
  if (count <= most_operations) {
    return;
  }
  const bool by_batch = workload.batch >= workload.tokens;
  const std::string path = by_batch ? "workload.batch" : "workload.tokens";
  complain(
      check.cause(path, {path, by_batch ? "workload.tokens" : "workload.batch", "model.layers"}),
      path,
      fmt::format("{} (batch {}, tokens {}, layers {}: {:.0f} operations)",
                  by_batch ? workload.batch : workload.tokens, workload.batch, workload.tokens,
                  check.run.model.layers, count),
      fmt::format("batch * tokens up to {:.0f} with these layers, {:.0f} operations",
                  std::floor(most_operations / each), most_operations));
}

void check_amounts(const Checker& check, std::size_t context,
                   const std::vector<std::string>& keys) {
  const RunConfig& run = check.run;
  const double largest = std::max({weight_bytes(run), attention_bytes(run, context),
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

enum class Rounding { down, up };

/// Four significant digits, so that rounding down shows what there is and up what suffices, in the
/// powers (of 1000 or 1024) in which `like` is written.
std::string size_text(double bytes, Bytes like, Rounding rounding) {
  const std::string written = format_size(like);
  const char before_b = written[written.size() - 2];
  const bool decimal = before_b != ' ' && before_b != 'i';
  double value = bytes;
  std::size_t power = 0;
  for (const double step = decimal ? 1000 : 1024; value >= step && power < 4; ++power) {
    value /= step;
  }
  constexpr std::array<const char*, 5> thousands{"B", "kB", "MB", "GB", "TB"};
  constexpr std::array<const char*, 5> binary{"B", "KiB", "MiB", "GiB", "TiB"};
  constexpr double noise = 1e-9;  // of the division by a power of ten
  const double digit = std::pow(10.0, std::floor(std::log10(std::max(value, 1.0))) - 3);
  const double rounded = rounding == Rounding::up ? std::ceil(value / digit * (1 - noise))
                                                  : std::floor(value / digit * (1 + noise));
  return fmt::format("{:.10g} {}", rounded * digit, (decimal ? thousands : binary)[power]);
}

/// What must lie on a device: one thing, or two.
struct Need {
  double weights = 0;
  double cache = 0;
};

void check_fits(const Checker& check, const std::string& device_path, const DeviceConfig& device,
                const Need& need, std::size_t context, std::vector<std::string> keys) {
  const double total = need.weights + need.cache;
  if (!device.capacity || total <= static_cast<double>(device.capacity->value())) {
    return;
  }
  const auto text = [&](double bytes, Rounding rounding) {
    return size_text(bytes, *device.capacity, rounding);
  };
  std::string what = "the weights";
  if (need.cache > 0) {
    const std::string cache =
        fmt::format("the KV cache at context {}, batch {}, tokens {}", format_count(context),
                    check.run.workload.batch, check.run.workload.tokens);
    what = need.weights == 0
               ? cache
               : fmt::format("the weights ({}) and {} ({})", text(need.weights, Rounding::up),
                             cache, text(need.cache, Rounding::up));
  }
  const std::string path = device_path + ".capacity";
  keys.insert(keys.begin(), path);
  complain(check.cause(path, keys), path,
           text(static_cast<double>(device.capacity->value()), Rounding::down),
           fmt::format("at least {} for {}", text(total, Rounding::up), what));
}

void check_capacity(const Checker& check, std::size_t context,
                    const std::vector<std::string>& keys) {
  const RunConfig& run = check.run;
  const Need all{weight_bytes(run), cache_bytes(run, context) + workspace_bytes(run, context)};
  if (run.arrangement == Arrangement::colocated) {
    check_fits(check, "compute_device", run.compute_device, all, context, keys);
    return;
  }
  check_fits(check, "compute_device", run.compute_device, {.weights = all.weights}, context, keys);
  check_fits(check, "cache_device", run.cache_device, {.cache = all.cache}, context, keys);
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
