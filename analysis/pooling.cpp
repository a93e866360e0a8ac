#include "analysis/pooling.hpp"

#include "analysis/operation_costs.hpp"

namespace qfs {
namespace {

double count(std::size_t value) { return static_cast<double>(value); }

}  // namespace

Bytes projection_bytes(const ModelShape& shape, Format format, ProjectionWeights weights) {
  const Bytes o = o_weight_bytes(shape, format);
  return weights == ProjectionWeights::o ? o : q_weight_bytes(shape, format) + o;
}

double break_even_requests(Bytes weights, BytesPerSecond cache, BytesPerSecond pool,
                           Seconds round_trip) {
  return (weights / cache).value() / pooling_time(weights, pool, round_trip).value();
}

Seconds pooling_time(Bytes weights, BytesPerSecond pool, Seconds round_trip) {
  return weights / pool + round_trip;
}

Seconds projection_time_per_token(const ModelShape& shape, Bytes weights, BytesPerSecond cache,
                                  std::size_t batch) {
  return (weights / cache) * (count(shape.layers) / count(batch));
}

std::size_t residents_without_window(const ModelShape& shape, std::size_t batch) {
  return batch * shape.layers;
}

// Wq N Wo is square: from the attention's width to the query's.
Bytes fused_projection_bytes(const ModelShape& shape, Format format) {
  ModelShape square = shape;
  square.hidden = shape.q_width();
  return q_weight_bytes(shape, format) + q_weight_bytes(square, format) +
         o_weight_bytes(shape, format);
}

MacShares mac_shares(const ModelShape& shape, ProjectionWeights weights) {
  const double projection = count(shape.hidden) * count(shape.q_width());
  const double pool = count(shape.hidden) * (2 * count(shape.kv_width()) + 3 * count(shape.ffn));
  const double chosen = weights == ProjectionWeights::o ? projection : 2 * projection;
  return {chosen / (2 * projection + pool), chosen / pool};
}

PooledWire pooled_wire(const AnalyticParameters& parameters) {
  const AnalyticCosts costs(parameters);
  PooledWire wire{costs.residual_message(), costs.residual_message() + costs.kv_message()};
  if (parameters.pooled_projections) {
    wire.sent += costs.q_message();  // the attention's output, as large as q
    wire.received += costs.q_message();
  }
  return wire;
}

}  // namespace qfs
