// What the closed forms are told: the workload and the few numbers that describe the hardware.
// Plain values: of the simulator only the shape and the names of the choices are shared, no count
// and no rule, so that the two answers to one question stay independent.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/units.hpp"
#include "decode/accounting.hpp"
#include "decode/attention_method.hpp"
#include "decode/block_order.hpp"
#include "decode/cache_split.hpp"
#include "decode/formats.hpp"
#include "decode/model_shape.hpp"

namespace qfs {

/// One kernel of a launch. Which of the numbers count hangs on what it does.
struct AnalyticKernel {
  enum class Kind {
    product,  // rows x inputs by inputs x outputs
    sweep,    // of `rows` requests, with so many positions each as a mean
    copy,     // moves bytes, no more
  } kind = Kind::product;
  std::size_t rows = 1;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t positions = 0;
  std::size_t element_bytes = 2;  // of weights, of the cache
  Bytes bytes = Bytes(0);
};

struct AnalyticDevice {
  BytesPerSecond bandwidth{unlimited};  // of its memory, shared fairly by the streams in flight
  MacsPerSecond mac_rate{unlimited};
  ExpsPerSecond exp_rate{unlimited};
  Seconds launch_overhead{0};
  /// What a kernel takes, whole; empty: the numbers above say it. With it an operation neither
  /// waits for the memory nor slows its other streams.
  std::function<Seconds(const AnalyticKernel&)> kernel_time = {};
};

struct AnalyticParameters {
  ModelShape shape;
  BlockOrder block = BlockOrder::early_q;
  CurrentToken current_token = CurrentToken::merge;
  Accounting accounting = Accounting::full;
  Formats formats;
  AttentionMethod attention;
  std::size_t batch = 1;      // requests of a wave
  std::size_t in_flight = 1;  // waves
  CacheSplit split = {};      // over cache devices of equal parameters
  /// By request and shard, for a split by `any`: rows before the first token.
  std::vector<std::vector<std::size_t>> scattered_rows = {};
  bool own_ports = false;                  // each cache device has a pair of ports of its own
  bool pooled_projections = false;         // pooled: q and o on the pool too
  std::size_t ranks = 1;                   // tensor_parallel
  std::size_t context = 0;                 // cached positions before the first token, unless:
  std::vector<std::size_t> contexts = {};  // of each request of a wave, in every wave
  std::size_t tokens = 1;
  bool lm_head = false;    // each token ends with the LM head
  AnalyticDevice compute;  // static weights; colocated: everything
  AnalyticDevice cache;    // KV; colocated: not used
  Seconds link_latency{0};
  BytesPerSecond link_bandwidth{unlimited};  // of each direction
  Seconds link_message_overhead{0};          // keeps the port busy, before the bytes

  [[nodiscard]] std::size_t context_of(std::size_t member) const {
    return contexts.empty() ? context : contexts[member];
  }
};

}  // namespace qfs
