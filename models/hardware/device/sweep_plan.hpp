// How a kernel cuts a sweep into items, parts and passes. It depends on facts alone, so a fit plans
// each measured sweep once.
#pragma once

#include "hardware/device/cost_model.hpp"

namespace qfs {

struct SweepPlan {
  double passes = 0;        // over the slots; part of a pass that is not full is saved
  double steps = 0;         // of an item's longest part, beyond the first
  double parts = 1;         // that share a query head
  double wide = 0;          // eights of rows in an item, beyond the first
  double further = 0;       // launches beside
  double sequences = 0;     // planned
  double results = 0;       // query heads of all planned sequences
  double bytes = 0;         // moved, partial results included
  double copied_bytes = 0;  // by launches of their own, before and after
  double macs = 0;
  bool narrow = false;  // elements of one byte
};

SweepPlan plan_of(const KernelCost& cost, const SweepWork& work);
Seconds launch_time(const KernelCost& cost, const SweepPlan& plan, CacheState cache);

/// How many parts an item is cut into by SplitRule::waves: the fewest whose passes are at least
/// 85 % as full as the fullest. Source: num_splits_heuristic in FlashAttention 2, flash_api.cpp.
/// All at least 1.
std::int64_t parts_by_waves(std::int64_t items, std::int64_t slots, std::int64_t steps,
                            std::int64_t most_parts);

}  // namespace qfs
