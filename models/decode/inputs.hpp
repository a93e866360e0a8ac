// What a numeric run starts from and shares with the reference decoder: the weights, the initial
// caches and the inputs of each request. Drawn once, then read only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids.hpp"
#include "decode/cache_split.hpp"
#include "decode/formats.hpp"
#include "decode/kv_cache.hpp"
#include "decode/model_shape.hpp"
#include "decode/weights.hpp"

namespace qfs {

struct InputsConfig {
  ModelShape shape;
  Formats formats;
  std::uint64_t seed = 1;
  std::vector<std::size_t> contexts;  // per request
  std::size_t tokens = 1;
  bool lm_head = true;
};

class Inputs {
 public:
  /// `progress` is called after each cache drawn.
  explicit Inputs(const InputsConfig& config, const std::function<void()>& progress = {});

  [[nodiscard]] const InputsConfig& config() const { return config_; }
  [[nodiscard]] const ModelShape& shape() const { return config_.shape; }
  [[nodiscard]] const Weights& weights() const { return weights_; }
  /// The cache before the first token, with room for the tokens to come.
  [[nodiscard]] const KvCache& cache(RequestId request, LayerId layer) const {
    return caches_[request.value() * shape().layers + layer.value()];
  }
  /// The same of one shard of a split cache.
  [[nodiscard]] KvCache cache_shard(RequestId request, LayerId layer, const CacheSplit& split,
                                    std::size_t shard) const;
  /// The first token of a request (runs with LM head).
  [[nodiscard]] std::size_t first_token(RequestId request) const;
  /// The input of a step in runs without LM head: `hidden` values of unit variance.
  [[nodiscard]] std::vector<float> seeded_input(RequestId request, StepId step) const;

 private:
  InputsConfig config_;
  Weights weights_;
  std::vector<KvCache> caches_;
};

/// Host memory that Inputs takes: the weights and the caches.
std::size_t inputs_host_bytes(const InputsConfig& config);

}  // namespace qfs
