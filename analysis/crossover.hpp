// The contexts beyond which a sweep no longer hides, in closed form, for the arrangements
// two_device and pooled; DESIGN.md 7. In positions per request (fractional), at equal contexts.
//
// In full accounting the appends are left out: at the crossing a layer's k and v leave after its
// sweep has ended (but in `parallel`, where they leave before the feed-forward and are counted). No
// closed form where a sweep does not grow in proportion to its positions (an n x n score matrix) or
// shares the memory with a copy of the cache, or where positions are scattered over cache devices
// at random, or where the cache device's kernels were measured: none is given then.
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
/// k, v message of the layer before keeps the port busy when q is ready; none for several cache
/// devices or several waves, which wait for each other. Infinite if a position takes no time.
std::optional<double> latency_crossover(const AnalyticParameters& parameters);

/// pooled: where the cache side (q, o, sweep) is busy as long as the pool (ffn, k, v), for a layer;
/// with pooled_projections q and o are the pool's. Neither link nor block order enters. With
/// several cache devices that of the first, which owns the request. None and infinite as above.
std::optional<double> busy_crossover(const AnalyticParameters& parameters);

/// pooled: where the merge first waits for the sweep: q and the sweep take as long as the message
/// to the pool, ffn, k and v there, and the reply. With pooled_projections q comes with a reply of
/// its own, and the sweep has the time until the next. In shifted_q the first layer, with nothing
/// but k and v, decides. None where q waits for the reply (standard, swapped, early_k), and where
/// latency_crossover gives none for append_first, single_q, several cache devices or waves.
std::optional<double> pooled_latency_crossover(const AnalyticParameters& parameters);

}  // namespace qfs
