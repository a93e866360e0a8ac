#include "sim/config/amounts.hpp"

#include <map>

#include "decode/cache_split.hpp"
#include "kernels/format.hpp"
#include "sim/config/system_config.hpp"

namespace qfs::config {
namespace {

WeightCount matrix(std::size_t rows, std::size_t columns) {
  return {real(rows) * real(columns), real(rows)};
}

double scale_bytes(Format format) { return real(row_bytes(format, 0)); }

/// At the end of the run, by shard.
std::vector<double> rows_of_request(const RunConfig& run, std::size_t request,
                                    std::size_t context) {
  const ShardPlan plan(run.cache.split, request, context, run.workload.tokens);
  std::vector<double> rows;
  for (std::size_t shard = 0; shard < run.cache.split.devices; ++shard) {
    rows.push_back(real(plan.rows(shard, run.workload.tokens)));
  }
  return rows;
}

}  // namespace

WeightCount q_and_o_weights(const ModelShape& shape) {
  return matrix(shape.q_width(), shape.hidden) + matrix(shape.hidden, shape.q_width());
}

WeightCount k_and_v_weights(const ModelShape& shape) {
  return 2 * matrix(shape.kv_width(), shape.hidden);
}

WeightCount ffn_weights(const ModelShape& shape) {
  return 2 * matrix(shape.ffn, shape.hidden) + matrix(shape.hidden, shape.ffn);
}

WeightCount layer_weights(const ModelShape& shape) {
  return q_and_o_weights(shape) + k_and_v_weights(shape) + ffn_weights(shape);
}

WeightCount vocabulary_weights(const ModelShape& shape) {
  return matrix(shape.vocab, shape.hidden);
}

WeightCount model_weights(const ModelShape& shape) {
  const double tables = shape.tied_embedding ? 1 : 2;
  return real(shape.layers) * layer_weights(shape) + tables * vocabulary_weights(shape);
}

double weight_bytes(const WeightCount& weights, Format format) {
  return weights.values * real(bytes_per_value(format)) + weights.rows * scale_bytes(format);
}

double position_bytes(const ModelShape& shape, Format format) {
  return 2 * (real(shape.kv_width()) * real(bytes_per_value(format)) +
              real(shape.kv_heads) * scale_bytes(format));
}

CacheRows cache_rows(const RunConfig& run, std::size_t context) {
  CacheRows all;
  for (const std::size_t cached : request_contexts(run, context)) {
    const double rows = real(cached) + real(run.workload.tokens);
    all.sum += rows;
    all.squares += rows * rows;
  }
  return all;
}

std::vector<CacheRows> shard_rows(const RunConfig& run, std::size_t context) {
  const std::vector<std::size_t> contexts = request_contexts(run, context);
  const bool random = run.cache.split.by == SplitBy::any;  // then no two requests are alike
  std::map<std::size_t, std::vector<double>> known;        // by context
  std::vector<CacheRows> shards(run.cache.split.devices);
  for (std::size_t request = 0; request < contexts.size(); ++request) {
    std::vector<double>& rows = known[contexts[request]];
    if (random || rows.empty()) {
      rows = rows_of_request(run, request, contexts[request]);
    }
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
      shards[shard].sum += rows[shard];
      shards[shard].squares += rows[shard] * rows[shard];
    }
  }
  return shards;
}

}  // namespace qfs::config
