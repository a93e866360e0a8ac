// The two phases of a sweep with a calibrated softmax unit, in fp32 on the cache as it is stored.
// All heads of one shard at a time; outputs are laid out as values.hpp says.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/softmax/softmax_unit.hpp"

namespace qfs {

/// First phase: the output of `scores` over `positions` rows. rows.positions <= positions: a row
/// that has not landed is masked, a mistake for the numeric check to find.
std::vector<float> score_rows(std::span<const float> q, const KvRows& rows, std::size_t positions);

/// The scores that a query's heads give one key of every KV head: the current token's.
std::vector<float> score_key(std::span<const float> q, std::span<const float> k,
                             std::size_t head_dim);

using Anchors = std::vector<Extrema<float>>;  // by head

/// Extends the anchors to those of another shard of the row: the maxima of every head, then the
/// minima.
void widen(Anchors& anchors, std::span<const float> extrema);

/// Second phase: the output of `values`. `anchors`: of the whole row, by head; `scores`: of every
/// head over so many rows as `rows` has or more, which are masked. `current`: the current token's
/// scores, if it weighs on the same grid. What the anchors leave out of these scores widens them.
std::vector<float> weigh_rows(const SoftmaxUnit& unit, Anchors anchors,
                              std::span<const float> scores, const KvRows& rows,
                              const std::optional<std::vector<float>>& current);

}  // namespace qfs
