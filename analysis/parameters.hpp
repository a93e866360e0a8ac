// What the closed forms are told: the workload and the few numbers that describe the hardware.
// Plain values: of the simulator only the shape and the names of the choices are shared, no count
// and no rule, so that the two answers to one question stay independent.
#pragma once

#include <cstddef>
#include <vector>

#include "base/units.hpp"
#include "decode/accounting.hpp"
#include "decode/attention_method.hpp"
#include "decode/block_order.hpp"
#include "decode/cache_split.hpp"
#include "decode/formats.hpp"
#include "decode/model_shape.hpp"

namespace qfs {

struct AnalyticDevice {
  BytesPerSecond bandwidth{unlimited};  // of its memory, shared fairly by the streams in flight
  MacsPerSecond mac_rate{unlimited};
  ExpsPerSecond exp_rate{unlimited};
  Seconds launch_overhead{0};
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
