// The shapes and the ideal machine of DESIGN.md 7, for closed forms and simulations alike.
#pragma once

#include "analysis/parameters.hpp"

namespace qfs::test {

inline ModelShape qwen3_0_6b() {
  ModelShape shape;
  shape.hidden = 1024;
  shape.layers = 28;
  shape.heads = 16;
  shape.kv_heads = 8;
  shape.head_dim = 128;
  shape.ffn = 3072;
  shape.vocab = 151936;
  return shape;
}

inline ModelShape qwen3_4b() {
  ModelShape shape;
  shape.hidden = 2560;
  shape.layers = 36;
  shape.heads = 32;
  shape.kv_heads = 8;
  shape.head_dim = 128;
  shape.ffn = 9728;
  shape.vocab = 151936;
  return shape;
}

/// weights_and_sweep, 1 TB/s on both sides, nothing else limits.
inline AnalyticParameters ideal(const ModelShape& shape, BlockOrder block, std::size_t context,
                                double latency_us = 0) {
  AnalyticParameters parameters;
  parameters.shape = shape;
  parameters.block = block;
  parameters.accounting = Accounting::weights_and_sweep;
  parameters.context = context;
  parameters.compute.bandwidth = BytesPerSecond(1e12);
  parameters.cache.bandwidth = BytesPerSecond(1e12);
  parameters.link_latency = Seconds(latency_us * 1e-6);
  return parameters;
}

/// One layer small enough to work by hand, on memories of 1 B/s. Bytes of a request: residual 8; q,
/// k, v and the attention's output 4 each; partial result 8; a cached position 8. Weights: Wq 8, Wk
/// and Wv 16, Wo 8, ffn 12, LM head 12. In full accounting, batch 1: q 20, kv 32, qkv 44, sweep 12
/// + 8 n, o 28 (append_first 32), ffn 28, LM head 24, append 8.
inline AnalyticParameters by_hand(BlockOrder block, std::size_t context) {
  AnalyticParameters parameters;
  parameters.shape.hidden = 2;
  parameters.shape.layers = 1;
  parameters.shape.heads = 1;
  parameters.shape.kv_heads = 1;
  parameters.shape.head_dim = 2;
  parameters.shape.ffn = 1;
  parameters.shape.vocab = 3;
  parameters.block = block;
  parameters.accounting = Accounting::full;
  parameters.context = context;
  parameters.compute.bandwidth = BytesPerSecond(1);
  parameters.cache.bandwidth = BytesPerSecond(1);
  return parameters;
}

}  // namespace qfs::test
