// What one operation of a layer costs for the whole wave, and how large its messages are.
// Re-derived here from DESIGN.md 4 to 6 and from 001's byte counts, on purpose without
// models/decode's own table of work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/parameters.hpp"

namespace qfs {

struct AnalyticCost {
  std::int64_t launches = 0;
  Bytes bytes;  // of the memory stream: weights, swept KV and, in full accounting, activations
  Macs macs;
  Exps exps;
  std::vector<AnalyticKernel> kernels = {};  // that these launches are

  AnalyticCost& operator+=(const AnalyticCost& other);
  friend AnalyticCost operator*(std::int64_t times, const AnalyticCost& cost);
};

/// Every launch of the operation, before its memory stream and its arithmetic start; with
/// kernel_time all of it.
Seconds launch_time(const AnalyticCost& cost, const AnalyticDevice& device);
/// What its stream has to move before the operation can end.
Bytes streamed(const AnalyticCost& cost, const AnalyticDevice& device);
/// The slower of the two kinds of arithmetic, which run beside the memory stream.
Seconds arithmetic_time(const AnalyticCost& cost, const AnalyticDevice& device);
/// The operation with the memory to itself: launches + max(memory, MACs, exponentials);
/// DESIGN.md 6.
Seconds time_alone(const AnalyticCost& cost, const AnalyticDevice& device);

/// One rank's share: with parameters.ranks = t its heads, KV heads, feed-forward and vocabulary are
/// 1/t of the model's; with one rank, all. Holds a reference: the parameters must outlive it.
class AnalyticCosts {
 public:
  explicit AnalyticCosts(const AnalyticParameters& parameters)
      : AnalyticCosts(parameters, parameters.ranks) {}
  /// What one cache device sweeps, is sent and returns: under a split by heads 1/c of the heads,
  /// else all of them.
  static AnalyticCosts of_shard(const AnalyticParameters& parameters) {
    const bool by_heads = parameters.split.by == SplitBy::heads;
    return {parameters, parameters.ranks * (by_heads ? parameters.split.devices : 1)};
  }

  [[nodiscard]] AnalyticCost q() const;
  [[nodiscard]] AnalyticCost kv() const;      // Wk and Wv of one input, one launch
  [[nodiscard]] AnalyticCost k_or_v() const;  // one of them, where they read two points
  [[nodiscard]] AnalyticCost qkv() const;     // the fused product of append_first
  /// Of every request that many positions, or of each its own.
  [[nodiscard]] AnalyticCost sweep(std::size_t positions) const;
  [[nodiscard]] AnalyticCost sweep(std::span<const std::size_t> positions) const;
  [[nodiscard]] AnalyticCost o() const;  // with the merge, which costs nothing of its own
  [[nodiscard]] AnalyticCost ffn() const;
  [[nodiscard]] AnalyticCost reduce() const;  // of all ranks' partial sums, with the residual
  [[nodiscard]] AnalyticCost lm_head() const;
  /// Into the cache's memory, of a token (from 0); copied caches are read and written whole.
  [[nodiscard]] Bytes append(std::size_t token) const;
  /// Of the requests that append here: the rows that each has here already.
  [[nodiscard]] Bytes append(std::span<const std::size_t> rows) const;

  [[nodiscard]] Bytes q_message() const;  // the attention's output has the same size
  [[nodiscard]] Bytes kv_message() const;
  [[nodiscard]] Bytes kv_message(std::size_t members) const;  // of some of the wave
  [[nodiscard]] Bytes k_or_v_message() const;
  [[nodiscard]] Bytes k_or_v_message(std::size_t members) const;
  [[nodiscard]] Bytes partial_message() const;   // (o, lse), lse in fp32
  [[nodiscard]] Bytes residual_message() const;  // a point of the residual stream, a partial sum
  [[nodiscard]] Bytes token_message() const;     // the arg max; of a rank with its logit

  /// Positions that a token (from 0) sweeps; append_first includes its own.
  [[nodiscard]] std::size_t swept_positions(std::size_t token) const;
  /// append_first fuses the projections of a layer that read the same stream point.
  [[nodiscard]] bool fused_qkv(std::size_t layer) const;

 private:
  AnalyticCosts(const AnalyticParameters& parameters, std::size_t slices);
  [[nodiscard]] Bytes residual() const;
  [[nodiscard]] Bytes attention() const;
  [[nodiscard]] Bytes token() const;
  [[nodiscard]] Bytes current_k() const;  // of one request; its v is as large
  [[nodiscard]] Bytes cache_row() const;  // one position of one request, k and v
  [[nodiscard]] Bytes swept_bytes(std::size_t positions) const;  // of the cache, one request
  [[nodiscard]] Bytes matrix_bytes(std::size_t positions) const;
  [[nodiscard]] AnalyticKernel swept_by_kernel(std::span<const std::size_t> positions) const;
  [[nodiscard]] AnalyticCost product(std::size_t in, std::size_t out) const;
  [[nodiscard]] AnalyticCost with_activations(AnalyticCost cost, Bytes activations) const;

  const AnalyticParameters& parameters_;
  ModelShape shape_;  // of the share
};

}  // namespace qfs
