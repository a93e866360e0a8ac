// Which kernels a launch of operations is, and how long they take on a device whose kernels were
// fitted.
#pragma once

#include <span>
#include <vector>

#include "base/units.hpp"
#include "decode/operation.hpp"
#include "decode/work.hpp"
#include "hardware/device/cost_model.hpp"

namespace qfs {

/// The measured kernels of one launch over `members`, of one kind and layer; at least one member.
/// m is the number of requests, n and k the outputs and inputs of the weights' part; ffn is two
/// products. A sweep over requests of several contexts counts with their mean, rounded up: a
/// kernel's work and bytes go with the positions in all. Empty for what only moves values
/// (reduces), or needs no launch. Elements have the bytes that the formats give a value.
/// Preconditions: attention is exact and of minimal form, no phases of a calibrated sweep.
std::vector<KernelWork> kernels_of(const CountingRules& rules,
                                   std::span<const Operation* const> members);

/// From the start to the end of the launch, one kernel after the other. What only moves values
/// takes a product's launch and its bytes (copy_time).
Seconds launch_time(const DeviceCost& device, CacheState cache, const CountingRules& rules,
                    std::span<const Operation* const> members);

}  // namespace qfs
