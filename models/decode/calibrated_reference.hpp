// The two phases of a calibrated sweep in fp64, as their formulas are written; and how far fp32 may
// rightly end up from it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/softmax/softmax_unit.hpp"

namespace qfs {

/// Some rows of one shard's cache in fp64: reads row `position` of every KV head.
struct ReferenceRows {
  std::size_t positions = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::function<void(std::size_t position, std::span<double> k, std::span<double> v)> read;

  [[nodiscard]] std::size_t width() const { return kv_heads * head_dim; }
};

/// The output of `scores`, as values.hpp lays it out.
std::vector<double> scores_reference(std::span<const double> q, const ReferenceRows& rows);
/// The scores of one key of every KV head.
std::vector<double> key_scores_reference(std::span<const double> q, std::span<const double> k,
                                         std::size_t head_dim);

using ReferenceAnchors = std::vector<Extrema<double>>;  // by head
/// The anchors of all scores: those of the shards (maxima, then minima of every head), and the
/// current token's.
ReferenceAnchors anchors_reference(std::span<const std::vector<double>> extrema,
                                   const std::vector<double>* current);

/// What `values` should have returned. A unit with steps may give a key that scores within rounding
/// of one either weight beside it (weight_range_reference): the rest says what that allows.
struct ValuesReference {
  std::vector<double> o;        // 0 where nothing weighs anything
  std::vector<double> lse;      // by head, likewise the rest
  std::vector<double> current;  // the current token's log weight, if it weighs
  std::vector<double> o_room;   // the L2 distance from o that is allowed
  std::vector<WeightRange> lse_range;
  std::vector<WeightRange> current_range;
  std::vector<double> newest;  // the share P of the last row
  std::vector<double> oldest;
  std::size_t steps = 0;  // keys within rounding of a step

  /// As values.hpp lays it out, of an operation that keeps the current token's scores.
  [[nodiscard]] std::vector<double> output(const std::vector<double>* current_scores) const;
};
ValuesReference values_reference(const SoftmaxUnit& unit, const ReferenceAnchors& anchors,
                                 std::span<const double> scores, const ReferenceRows& rows,
                                 const std::vector<double>* current);

}  // namespace qfs
