// Where the query and output projections go in `pooled`, and what the pool's wire carries: 001's
// closed forms (its section 4.1, "the pool is a pure function" and after), for any shape and
// device.
#pragma once

#include <cstddef>

#include "analysis/parameters.hpp"

namespace qfs {

/// Weights of one layer that the cache side may keep or pool.
enum class ProjectionWeights { o, q_and_o };

Bytes projection_bytes(const ModelShape& shape, Format format, ProjectionWeights weights);

/// Past that many requests in a wave the cache side reads the weights at less cost a request than
/// the pool, each of whose readings costs a round trip: (W / cache) / (W / pool + round trip).
double break_even_requests(Bytes weights, BytesPerSecond cache, BytesPerSecond pool,
                           Seconds round_trip);

/// What pooling them costs a layer: W / pool + round trip.
Seconds pooling_time(Bytes weights, BytesPerSecond pool, Seconds round_trip);

/// What reading them costs each of `batch` requests a token, on the cache side.
Seconds projection_time_per_token(const ModelShape& shape, Bytes weights, BytesPerSecond cache,
                                  std::size_t batch);

/// Requests that an effective batch needs if nothing collects it: they are spread over the layers.
std::size_t residents_without_window(const ModelShape& shape, std::size_t batch);

/// The product [Wq N, Wq N Wo] on [z; a], which 001 rejected, and Wo, which it does not save.
Bytes fused_projection_bytes(const ModelShape& shape, Format format);

struct MacShares {
  double of_layer;       // of a layer's MACs without attention
  double added_to_pool;  // of those that the pool has without them
};
MacShares mac_shares(const ModelShape& shape, ProjectionWeights weights);

/// Bytes of a layer's round trip, of the whole wave, where the pool replies once (twice with
/// pooled_projections: q first). Only formats, shape, batch and pooled_projections are read.
struct PooledWire {
  Bytes sent;  // by the cache side
  Bytes received;
};
PooledWire pooled_wire(const AnalyticParameters& parameters);

}  // namespace qfs
