// What a run holds, in floating point, where no product of sizes can overflow.
#pragma once

#include <cstddef>
#include <vector>

#include "decode/model_shape.hpp"
#include "sim/config/run_config.hpp"

namespace qfs::config {

inline double real(std::size_t value) { return static_cast<double>(value); }

/// Weight matrices, one row per output: how many values, in how many rows.
struct WeightCount {
  double values = 0;
  double rows = 0;

  friend WeightCount operator+(const WeightCount& a, const WeightCount& b) {
    return {a.values + b.values, a.rows + b.rows};
  }
  friend WeightCount operator*(double times, const WeightCount& one) {
    return {times * one.values, times * one.rows};
  }
};

/// Of one layer.
WeightCount q_and_o_weights(const ModelShape& shape);
WeightCount k_and_v_weights(const ModelShape& shape);
WeightCount ffn_weights(const ModelShape& shape);
WeightCount layer_weights(const ModelShape& shape);
/// The embedding, or an LM head.
WeightCount vocabulary_weights(const ModelShape& shape);
/// All of the model: tied, the LM head is the embedding.
WeightCount model_weights(const ModelShape& shape);

double weight_bytes(const WeightCount& weights, Format format);
/// Of one position of one layer's cache, k and v.
double position_bytes(const ModelShape& shape, Format format);

/// Rows of the caches of a layer at the end of the run, over all requests.
struct CacheRows {
  double sum = 0;
  double squares = 0;  // of each request's number
};

CacheRows cache_rows(const RunConfig& run, std::size_t context);
/// What each shard of the caches holds of them.
std::vector<CacheRows> shard_rows(const RunConfig& run, std::size_t context);

}  // namespace qfs::config
