// What one launch of a kernel costs on a real device: a few physical numbers, the same for a
// decode-attention sweep and for a product. The ideal device is its limit.
//
//   time   launch + further launches + planning + together(work, bytes, arithmetic)
//   work   passes x (item + steps x step): a kernel cuts its work into items, a device has units
//          that each hold a few of them, and the items go over the slots in passes
//   bytes  memory traffic; a working set that the last-level cache holds goes at the cache's rate
//
// together(a, b, c) is the longest of them if they overlap wholly, their sum if not at all.
// Fitted numbers come from measured kernels (`qfsim calibrate`); facts come from vendors and from
// the kernels' published sources. Neither is known to a fit that it was not made for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/enum_names.hpp"
#include "base/units.hpp"

namespace qfs {

/// Attention of one query a sequence over its cached positions, one layer. All at least 1, except
/// the context; the KV heads divide the query heads.
struct SweepWork {
  std::int64_t batch = 1;
  std::int64_t query_heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t context = 0;        // cached positions of each sequence
  std::int64_t element_bytes = 2;  // of the cache; queries and results have two bytes
};

/// (m x k) by (k x n); n x k are the weights. All at least 1.
struct ProductWork {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t element_bytes = 2;  // of weights and inputs; results have two bytes
};

using KernelWork = std::variant<SweepWork, ProductWork>;

/// What a launch has to move and to multiply, however it is cut.
Bytes bytes_of(const KernelWork& work);
Macs macs_of(const KernelWork& work);

/// How many parts an item's positions are cut into when there are fewer items than slots.
enum class SplitRule {
  never,
  fill,   // as many as fill the slots once (FlashInfer, TensorRT-LLM)
  even,   // each part gets a slot's fair share of all steps (FlashAttention 3's planner)
  waves,  // the fewest whose passes are 85 % as full as the fullest (FlashAttention 2)
};
template <>
inline constexpr EnumNames<SplitRule, 4> enum_names<SplitRule>{{{SplitRule::never, "never"},
                                                                {SplitRule::fill, "fill"},
                                                                {SplitRule::even, "even"},
                                                                {SplitRule::waves, "waves"}}};

/// Whether the last-level cache holds what a launch reads. A benchmark that runs one kernel again
/// and again finds it there (warm, if it fits); a decode loop over many layers does not (cold).
enum class CacheState { warm, cold };
template <>
inline constexpr EnumNames<CacheState, 2> enum_names<CacheState>{
    {{CacheState::warm, "warm"}, {CacheState::cold, "cold"}}};

/// How a sweep's kernel cuts its work: facts of the kernel, not fitted.
struct SweepTiling {
  std::size_t rows = 64;      // query heads over one KV head that share an item
  std::size_t wide_rows = 0;  // more go to a kernel of so many rows, one item a unit; 0: none does
  std::size_t padded_rows = 8;  // an item's rows count as a power of two, from 8 to so many
  std::size_t residents = 1;    // items that a unit holds at a time
  std::size_t positions = 128;  // of a step
  SplitRule split = SplitRule::never;
  std::size_t split_residents = 1;  // slots of a unit, as the rule counts them
  std::size_t part_steps = 1;       // of a part, at least
  std::size_t most_parts = 1;       // of an item
  std::size_t most_planned = 0;     // sequences that are planned and split; 0: any number
  bool splits_groups_only = false;  // no split where each query head has its own KV head
  bool combines_apart = true;       // combining the parts is a launch of its own
  bool regroups = false;            // grouped queries of a batch are copied into groups and back
};

/// One kind of kernel on one device. As it stands: the ideal device.
struct KernelCost {
  // Facts.
  std::size_t units = 1;      // streaming multiprocessors
  SweepTiling tiling;         // of a cache with elements of two bytes
  SweepTiling narrow_tiling;  // of one byte

  // Fitted. Times are at least 0, rates above 0.
  Seconds launch{0};          // of any launch, to its first item and from its last
  Seconds narrow_launch{0};   // more with elements of one byte
  Seconds further_launch{0};  // of each kernel beside: to combine, to regroup
  Seconds part{0};            // combining, for each part of an item beyond the first
  Seconds item{0};            // an item, with the first step of a sweep's, on a full unit
  Seconds narrow_item{0};     // more with elements of one byte
  Seconds rows{0};            // more for every eight rows beyond the first eight
  Seconds step{0};            // `positions` of a sweep beyond the first; 64 of a product's k
  Seconds sequence{0};        // planning, for each sequence of a batch
  Seconds result{0};          // combining, for each query head of each sequence
  BytesPerSecond unit_bandwidth{unlimited};   // what one unit loads in a step of a product
  MacsPerSecond unit_mac_rate{unlimited};     // of one unit, on tiles that it pads
  MacsPerSecond mac_rate{unlimited};          // of all units, on what is asked for
  BytesPerSecond bandwidth{unlimited};        // reached with many bytes in flight
  BytesPerSecond cache_bandwidth{unlimited};  // the same of the last-level cache
  Bytes cache{0};  // working set that is still served from it; what lies around it may hold less
  double tall_traffic = 0;  // share more time for the bytes of a product with more than 16 rows
  double serial = 0;        // share in which work, bytes and arithmetic take turns: 0 none, 1 all
};

/// The kernels of one device. None: the ideal device's.
struct DeviceCost {
  std::optional<KernelCost> sweep;
  std::optional<KernelCost> product;         // of weights with elements of two bytes
  std::optional<KernelCost> narrow_product;  // of one byte; none: as `product`
};
const KernelCost& cost_of(const DeviceCost& device, const KernelWork& work);

/// Time from the start to the end of one launch on an idle device.
/// With elements of one byte, the narrow numbers are added and narrow_tiling holds.
/// Preconditions: those of the work and of the cost above.
Seconds launch_time(const KernelCost& cost, const KernelWork& work,
                    CacheState cache = CacheState::warm);

inline Seconds launch_time(const DeviceCost& device, const KernelWork& work,
                           CacheState cache = CacheState::warm) {
  return launch_time(cost_of(device, work), work, cache);
}

/// Of a kernel that only moves bytes: a product's launch, and its bandwidth.
Seconds copy_time(const DeviceCost& device, Bytes bytes);

/// The same device, all of whose times are `factor` times as long. `factor` above 0.
DeviceCost slowed(const DeviceCost& device, double factor);

/// Share of the bytes that the last-level cache serves: 1 far below its size, 1/2 at it, 0 far
/// above, where a working set that is read in turn evicts itself.
double cache_share(const KernelCost& cost, double bytes, CacheState cache);

}  // namespace qfs
