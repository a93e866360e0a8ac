#include "decode/inputs.hpp"

#include <array>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "decode/draw.hpp"

namespace qfs {
namespace {

// Keys of the last positions are drawn longer, so that some heads give them real weight and a
// missing one matters.
constexpr double recency_gain = 1.0;
constexpr double recency_scale = 32.0;  // positions

float key_scale(std::size_t position, std::size_t context) {
  const auto age = static_cast<double>(context - 1 - position);
  return static_cast<float>(1 + recency_gain * std::exp(-age / recency_scale));
}

/// One row of every KV head: element i of the row is element i of block sequence `position`.
void draw_row(const Random& random, std::size_t position, float scale, std::vector<float>& row) {
  std::array<float, 8> drawn{};
  const std::size_t blocks = (row.size() + drawn.size() - 1) / drawn.size();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::size_t lane = i % drawn.size();
    if (lane == 0) {
      draw_eight(random, position * blocks + i / drawn.size(), drawn);
    }
    row[i] = scale * drawn[lane];
  }
}

KvCache draw_cache(const InputsConfig& config, std::size_t request, std::size_t layer) {
  const std::size_t context = config.contexts[request];
  const std::uint64_t owner = request * config.shape.layers + layer;
  const Random k_random(config.seed, stream_of(StreamOwner::cache, owner, 0));
  const Random v_random(config.seed, stream_of(StreamOwner::cache, owner, 1));
  KvCache cache(config.shape, config.formats.kv, context + config.tokens);
  std::vector<float> k(config.shape.kv_width());
  std::vector<float> v(config.shape.kv_width());
  for (std::size_t position = 0; position < context; ++position) {
    draw_row(k_random, position, key_scale(position, context), k);
    draw_row(v_random, position, 1, v);
    cache.append(k, v);
  }
  return cache;
}

}  // namespace

Inputs::Inputs(const InputsConfig& config, const std::function<void()>& progress)
    : config_(config),
      weights_(draw_weights(config.shape, config.formats.weights, config.seed, config.lm_head)) {
  for (std::size_t request = 0; request < config.contexts.size(); ++request) {
    for (std::size_t layer = 0; layer < config.shape.layers; ++layer) {
      caches_.push_back(draw_cache(config, request, layer));
      if (progress) {
        progress();
      }
    }
  }
}

KvCache Inputs::cache_shard(RequestId request, LayerId layer, const CacheSplit& split,
                            std::size_t shard) const {
  const KvCache& whole = cache(request, layer);
  if (split.devices == 1) {
    return whole;
  }
  const Part heads = split.by == SplitBy::heads ? Part{shard, split.devices} : Part{};
  const ShardPlan plan(split, request.value(), config_.contexts[request.value()], config_.tokens);
  return whole.selected(heads, plan.initial(shard), plan.rows(shard, config_.tokens));
}

std::size_t Inputs::first_token(RequestId request) const {
  const Random random(config_.seed, stream_of(StreamOwner::tokens, 0, 0));
  return random.below(request.value(), shape().vocab);
}

std::vector<float> Inputs::seeded_input(RequestId request, StepId step) const {
  std::vector<float> input(shape().hidden);
  const Random random(config_.seed, stream_of(StreamOwner::inputs, request.value(), 0));
  draw_row(random, step.value(), 1, input);
  return input;
}

std::size_t inputs_host_bytes(const InputsConfig& config) {
  const ModelShape& shape = config.shape;
  const Format format = config.formats.weights;
  const Bytes layers = static_cast<std::int64_t>(shape.layers) * layer_weight_bytes(shape, format);
  const Bytes weights = config.lm_head ? model_weight_bytes(shape, format) : layers;
  const std::size_t rows = std::accumulate(config.contexts.begin(), config.contexts.end(),
                                           config.contexts.size() * config.tokens);
  const std::size_t position = 2 * shape.kv_heads * row_bytes(config.formats.kv, shape.head_dim);
  return static_cast<std::size_t>(weights.value()) + rows * shape.layers * position;
}

}  // namespace qfs
