// What must lie on each device, against its capacity.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "decode/part.hpp"
#include "sim/config/amounts.hpp"
#include "sim/config/checker.hpp"
#include "sim/config/quantity.hpp"
#include "sim/config/system_config.hpp"

namespace qfs::config {
namespace {

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

/// What must lie on a device: one thing, or two. In words, the cache without its context.
struct Need {
  double weights = 0;
  std::string of_weights;
  double cache = 0;
  std::string of_cache;

  [[nodiscard]] double total() const { return weights + cache; }
};

std::string workload_text(const RunConfig& run, std::size_t context) {
  const bool mixed = !run.workload.request_contexts.empty() && context == run.workload.context;
  const std::string contexts =
      mixed ? "workload.request_contexts" : fmt::format("context {}", format_count(context));
  const std::string waves =
      run.workload.in_flight == 1 ? "" : fmt::format(", in_flight {}", run.workload.in_flight);
  return fmt::format("at {}, batch {}{}, tokens {}", contexts, run.workload.batch, waves,
                     run.workload.tokens);
}

/// At most: what a layer's sweeps and appends need beside the caches while they run, for the rows
/// that a device holds of heads of `shape`. One wave at a time.
double workspace_bytes(const RunConfig& run, const ModelShape& shape, const CacheRows& rows) {
  const double waves = real(run.workload.in_flight);
  const double layer = position_bytes(shape, run.numerics.formats.kv) * rows.sum / waves;
  const double copy = run.attention.growth == CacheGrowth::copying ? layer : 0;
  switch (run.attention.form) {
    case AttentionForm::minimal: {
      const double scores = 4 * real(shape.heads) * rows.sum / waves;
      const std::optional<Bytes>& buffer = run.attention.score_buffer;
      const double spilled = buffer ? scores - static_cast<double>(buffer->value()) : 0;
      return std::max(copy, spilled);
    }
    case AttentionForm::transposed_k:
      return std::max(copy, layer / 2);
    case AttentionForm::expanded_heads:
      return std::max(copy, layer * real(shape.group()));
    case AttentionForm::score_matrix:
      return std::max(copy, 2 * 4 * rows.squares / waves * real(shape.heads));
  }
  return copy;
}

/// The caches' part with heads of `shape`, and what their sweeps need beside them.
double cache_bytes(const RunConfig& run, const ModelShape& shape, const CacheRows& rows) {
  const double position = position_bytes(shape, run.numerics.formats.kv);
  return position * real(shape.layers) * rows.sum + workspace_bytes(run, shape, rows);
}

/// Of the cache devices, what each holds.
std::vector<double> shard_bytes(const RunConfig& run, std::size_t context) {
  const CacheSplit& split = run.cache.split;
  const std::size_t parts = split.by == SplitBy::heads ? split.devices : 1;
  const ModelShape shape = part_of(run.model, {0, parts});
  std::vector<double> bytes;
  for (const CacheRows& rows : shard_rows(run, context)) {
    bytes.push_back(cache_bytes(run, shape, rows));
  }
  return bytes;
}

double largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

class CapacityCheck {
 public:
  CapacityCheck(const Checker& check, std::size_t context, const std::vector<std::string>& keys)
      : check_(check), run_(check.run), context_(context), keys_(keys) {}

  void check() const {
    switch (run_.arrangement) {
      case Arrangement::colocated:
        check_colocated();
        break;
      case Arrangement::two_device:
        check_two_device();
        break;
      case Arrangement::pooled:
        check_pooled();
        break;
      case Arrangement::tensor_parallel:
        check_parallel();
        break;
    }
  }

 private:
  [[nodiscard]] double bytes(const WeightCount& weights) const {
    return weight_bytes(weights, run_.numerics.formats.weights);
  }
  [[nodiscard]] double layers() const { return real(run_.model.layers); }

  void check_colocated() const {
    fits("compute_device", run_.compute_device,
         {bytes(model_weights(run_.model)), "the weights",
          cache_bytes(run_, run_.model, cache_rows(run_, context_)), "the KV cache"});
  }

  void check_two_device() const {
    fits("compute_device", run_.compute_device,
         {bytes(model_weights(run_.model)), "the weights", 0, ""});
    if (run_.cache_device.capacity) {
      const bool split = run_.cache.split.devices > 1;
      fits("cache_device", run_.cache_device,
           {0, "", largest(shard_bytes(run_, context_)),
            split ? "the largest share of the KV cache" : "the KV cache"});
    }
  }

  /// The first cache device owns the requests.
  void check_pooled() const {
    const ModelShape& model = run_.model;
    const WeightCount vocabulary = vocabulary_weights(model);
    const bool all =
        system_config(run_, run_.block, context_).pool.projections == Projections::pool;
    const WeightCount q_and_o = layers() * q_and_o_weights(model);
    const WeightCount others = layers() * (ffn_weights(model) + k_and_v_weights(model));
    fits("compute_device", run_.compute_device,
         {bytes(all ? q_and_o + others + vocabulary : others + vocabulary),
          fmt::format("the weights of a pool ({}ffn, k, v, LM head)", all ? "q, o, " : ""), 0, ""});
    if (!run_.cache_device.capacity) {
      return;
    }
    std::vector<double> shards = shard_bytes(run_, context_);
    fits("cache_device", run_.cache_device,
         {bytes(all ? vocabulary : q_and_o + vocabulary),
          fmt::format("the weights of a request's owner ({}embedding)", all ? "" : "q, o, "),
          shards.front(), shards.size() > 1 ? "its share of the KV cache" : "the KV cache"});
    fits("cache_device", run_.cache_device,
         {0, "", largest(shards), "the largest share of the KV cache"});
  }

  /// The embedding is on every device; tied, it holds the LM head's part too.
  void check_parallel() const {
    const ModelShape part = part_of(run_.model, {0, run_.tensor_parallel.devices});
    WeightCount weights = layers() * layer_weights(part) + vocabulary_weights(run_.model);
    if (!run_.model.tied_embedding) {
      weights = weights + vocabulary_weights(part);
    }
    fits("compute_device", run_.compute_device,
         {bytes(weights), "a device's part of the weights",
          cache_bytes(run_, part, cache_rows(run_, context_)), "of the KV cache"});
  }

  void fits(const std::string& device_path, const DeviceConfig& device, const Need& need) const {
    if (!device.capacity || need.total() <= static_cast<double>(device.capacity->value())) {
      return;
    }
    const auto text = [&](double size, Rounding rounding) {
      return size_text(size, *device.capacity, rounding);
    };
    const std::string cache = fmt::format("{} {}", need.of_cache, workload_text(run_, context_));
    std::string what = need.cache > 0 ? cache : need.of_weights;
    if (need.weights > 0 && need.cache > 0) {
      what = fmt::format("{} ({}) and {} ({})", need.of_weights, text(need.weights, Rounding::up),
                         cache, text(need.cache, Rounding::up));
    }
    const std::string path = device_path + ".capacity";
    std::vector<std::string> keys = keys_;
    keys.insert(keys.begin(), path);
    complain(check_.cause(path, keys), path,
             text(static_cast<double>(device.capacity->value()), Rounding::down),
             fmt::format("at least {} for {}", text(need.total(), Rounding::up), what));
  }

  const Checker& check_;
  const RunConfig& run_;
  std::size_t context_;
  const std::vector<std::string>& keys_;
};

}  // namespace

void check_capacity(const Checker& check, std::size_t context,
                    const std::vector<std::string>& keys) {
  CapacityCheck(check, context, keys).check();
}

}  // namespace qfs::config
