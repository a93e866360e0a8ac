// The contexts beyond which a sweep no longer hides, in closed form, for the arrangement
// two_device; DESIGN.md 7. In positions per request (fractional), at equal contexts.
//
// In full accounting the appends are left out: at the crossing a layer's k and v leave after its
// sweep has ended (but in `parallel`, where they leave before the feed-forward and are counted). No
// closed form where a sweep does not grow in proportion to its positions (an n x n score matrix) or
// shares the memory with a copy of the cache: none is given then.
#pragma once

#include <optional>

#include "analysis/parameters.hpp"

namespace qfs {

/// Where a sweep takes as long as the feed-forward, each on its own device: with ideal devices and
/// weights_and_sweep, where their bytes are equal. No link or block order enters. None where it
/// does so already at context 0; infinite if a position takes no time.
std::optional<double> ffn_crossover(const AnalyticParameters& parameters);

/// Where the merge first waits for the sweep, in the given block order: what the compute device
/// does between q and the merge (early_q: ffn and kv; standard: kv) takes as long as the query's
/// message, the sweep and its result's message. In shifted_q the first layer decides. Launches,
/// arithmetic and the link are counted. None where the sweep is exposed already at context 0, for
/// append_first, where nothing runs beside it, for single_q, whose sweeps queue up, and where the
/// k, v message of the layer before keeps the port busy when q is ready. Infinite if a position
/// takes no time.
std::optional<double> latency_crossover(const AnalyticParameters& parameters);

}  // namespace qfs
