// What the sweep's and the product's cost have in common. Not for users of the cost model.
#pragma once

#include <array>

#include "hardware/device/cost_model.hpp"

namespace qfs {

/// Passes over the slots that `fill` = items / slots takes. An item alone on its unit runs faster
/// than beside others, so a pass that is not full costs less than a full one, but more than its
/// share.
double passes_of(double fill);

/// Bytes, of which the cache serves a share, at the rates of both.
Seconds transfer_time(const KernelCost& cost, double bytes, double cached_share);

/// The longest of times that overlap as far as the cost says: the norm of order 1 / serial.
Seconds together(const KernelCost& cost, const std::array<Seconds, 3>& times);

}  // namespace qfs
