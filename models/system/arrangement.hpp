// Who holds what: the choices. What each means for devices, links and operations is in layout.cpp.
#pragma once

#include <cstddef>

#include "base/enum_names.hpp"
#include "base/units.hpp"
#include "hardware/device/policy.hpp"

namespace qfs {

enum class Arrangement {
  colocated,   // one device holds everything; everything in turn on one memory
  two_device,  // compute device: all static weights; cache devices: the KV cache and its sweeps
  pooled,  // cache devices: KV, Wq, Wo and the request; a stateless pool of compute devices: the
           // feed-forward, Wk, Wv and the LM head
  tensor_parallel,  // equal devices, each with its part of all heads, weights and KV
};

template <>
inline constexpr EnumNames<Arrangement, 4> enum_names<Arrangement>{{
    {Arrangement::colocated, "colocated"},
    {Arrangement::two_device, "two_device"},
    {Arrangement::pooled, "pooled"},
    {Arrangement::tensor_parallel, "tensor_parallel"},
}};

/// Where a pooled arrangement multiplies by Wq and Wo (001 section 4).
enum class Projections {
  cache_side,
  pool,
};

template <>
inline constexpr EnumNames<Projections, 2> enum_names<Projections>{{
    {Projections::cache_side, "cache_side"},
    {Projections::pool, "pool"},
}};

struct PoolConfig {
  std::size_t instances = 1;
  Projections projections = Projections::cache_side;
  Batching batching = {Gather::ready, Gather::ready};  // of the pool and of the cache side
};

/// What the cache devices of two_device do besides sweeping.
struct CachePolicy {
  PrefetchConfig prefetch;
  Seconds append_delay{0};
};

/// The ports of several cache devices towards the compute device.
enum class Ports {
  shared,  // one each way for all of them
  own,     // one each way for each
};

template <>
inline constexpr EnumNames<Ports, 2> enum_names<Ports>{{
    {Ports::shared, "shared"},
    {Ports::own, "own"},
}};

}  // namespace qfs
