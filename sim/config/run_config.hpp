// What a run's YAML file says, as plain structs. Defaults are the documented ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "decode/accounting.hpp"
#include "decode/attention_method.hpp"
#include "decode/block_order.hpp"
#include "decode/cache_split.hpp"
#include "decode/fault.hpp"
#include "decode/formats.hpp"
#include "decode/model_shape.hpp"
#include "hardware/config.hpp"
#include "hardware/disturbances.hpp"
#include "system/arrangement.hpp"

namespace qfs {

struct Workload {
  std::size_t batch = 1;       // requests of a wave: that move through the layers together
  std::size_t in_flight = 1;   // waves, each with as many requests
  std::size_t context = 1024;  // cached positions before the first simulated token, per request
  std::size_t tokens = 1;      // simulated per request
  std::vector<std::size_t> contexts;  // further contexts, timed only
  /// Contexts of the requests of each wave, instead of `context` for all of them; empty: alike.
  std::vector<std::size_t> request_contexts;
  std::vector<std::size_t> request_tokens;  // likewise, instead of `tokens`, which is the most
  std::string trace;    // file that the two came from; empty: none, or a resolved configuration
  bool lm_head = true;  // without: no vocabulary product, inputs are seeded vectors

  /// Requests that are decoded together.
  [[nodiscard]] std::size_t requests() const { return batch * in_flight; }
};

/// The cache devices of two_device and pooled.
struct CacheConfig {
  CacheSplit split;
  Ports ports = Ports::shared;
  CachePolicy policy;  // prefetch and append delay: two_device only
};

enum class ProjectionsChoice {
  cache_side,  // Wq and Wo beside the KV cache
  pool,        // with all other weights
  per_wave,    // in the pool if the wave is too small to pay for reading them beside the cache
};

template <>
inline constexpr EnumNames<ProjectionsChoice, 3> enum_names<ProjectionsChoice>{{
    {ProjectionsChoice::cache_side, "cache_side"},
    {ProjectionsChoice::pool, "pool"},
    {ProjectionsChoice::per_wave, "per_wave"},
}};

struct PoolSettings {
  std::size_t instances = 1;
  ProjectionsChoice projections = ProjectionsChoice::cache_side;
  Gather batching = Gather::ready;     // of everything but sweeps
  Gather sweep_batch = Gather::ready;  // of sweeps
  Seconds window{0};
};

struct TensorParallel {
  std::size_t devices = 2;
};

enum class CrossoverSearch {
  on,  // for each block order, by some twenty timing-only simulations
  off,
};

template <>
inline constexpr EnumNames<CrossoverSearch, 2> enum_names<CrossoverSearch>{{
    {CrossoverSearch::on, "on"},
    {CrossoverSearch::off, "off"},
}};

enum class NumericsMode {
  full,  // every operation computes on real data
  off,   // timing only
};

template <>
inline constexpr EnumNames<NumericsMode, 2> enum_names<NumericsMode>{{
    {NumericsMode::full, "full"},
    {NumericsMode::off, "off"},
}};

enum class NumericsCheck {
  every_step,  // every executed operation of every step against fp64, and the reference decoder
  off,
};

template <>
inline constexpr EnumNames<NumericsCheck, 2> enum_names<NumericsCheck>{{
    {NumericsCheck::every_step, "every_step"},
    {NumericsCheck::off, "off"},
}};

struct Numerics {
  NumericsMode mode = NumericsMode::full;
  std::uint64_t seed = 1;
  Formats formats;  // weight_dtype, kv_dtype, wire_dtype, residual_wire_dtype
  NumericsCheck check = NumericsCheck::every_step;
  Fault inject;
};

struct RunConfig {
  std::string name;
  ModelShape model;
  BlockOrder block = BlockOrder::early_q;
  std::vector<BlockOrder> compare;  // further block orders, run and printed beside it
  Arrangement arrangement = Arrangement::two_device;
  CurrentToken current_token = CurrentToken::merge;
  Accounting accounting = Accounting::full;
  AttentionMethod attention;
  Workload workload;
  CrossoverSearch crossovers = CrossoverSearch::on;
  CacheConfig cache;               // two_device, pooled
  PoolSettings pool;               // pooled
  TensorParallel tensor_parallel;  // tensor_parallel
  DeviceConfig compute_device;
  DeviceConfig cache_device;  // two_device, pooled
  LinkConfig link;            // all but colocated
  Disturbances faults;        // they move time, never a value; numerics.inject is another thing
  Numerics numerics;
};

}  // namespace qfs
