// How far a softmax unit's probabilities are from the exact ones, over rows of a given score span:
// what 000 section 3 says of min_max (its bins widen with the row) and fwm (its do not).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/softmax/softmax_unit.hpp"

namespace qfs {

/// Half the L1 distance between the unit's probabilities and the exact softmax's, from 0 to 1;
/// fp64. 0 for a row without an unmasked key.
double total_variation(const SoftmaxUnit& unit, std::span<const double> scores);

/// Standard normal draws, shifted and stretched so that the least is exactly 0 and the greatest
/// exactly `span` nats. Needs span >= 0, and at least two keys unless span is 0.
std::vector<double> row_of_span(std::uint64_t seed, std::size_t keys, double span);

}  // namespace qfs
