// The contexts beyond which a sweep no longer hides, in closed form, for the arrangement
// two_device; DESIGN.md 7. In positions per request (fractional), at equal contexts.
//
// Both count as weights_and_sweep does, whatever parameters.accounting says: activations are free,
// and so is the append, which would otherwise take part of the cache device's bandwidth from the
// sweep.
#pragma once

#include <optional>

#include "analysis/parameters.hpp"

namespace qfs {

/// Where reading the feed-forward's weights takes as long as reading the swept KV: memory times
/// alone, each at its own device's bandwidth, so no launch, arithmetic, link or block order enters.
/// Infinite if the cache device's memory takes no time.
double ffn_crossover(const AnalyticParameters& parameters);

/// Where the merge first waits for the sweep, in the given block order: what the compute device
/// does between q and the merge (early_q: ffn and kv; else kv) takes as long as the query's
/// message, the sweep and its result's message. Launches, arithmetic and the link are counted.
/// Holds while the port is free when q is ready, that is, as long as the k, v message of the layer
/// before does not outlast what the compute device does until then. None where the sweep is exposed
/// already at context 0, and for append_first, where nothing runs beside it. Infinite if a position
/// takes no time.
std::optional<double> latency_crossover(const AnalyticParameters& parameters);

}  // namespace qfs
