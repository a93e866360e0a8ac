// Rotary position embedding (Su et al., 2021) in the half-split pairing of the Llama and Qwen
// checkpoints: element i turns with element i + head_dim / 2 by the angle position * theta^(-2 i /
// head_dim).
#pragma once

#include <cstddef>
#include <span>

namespace qfs {

/// Rotates every head in place. heads.size() is a multiple of head_dim, head_dim is even. Angles
/// are computed in fp64.
void rotary(std::span<float> heads, std::size_t head_dim, std::size_t position, double theta);
void rotary_reference(std::span<double> heads, std::size_t head_dim, std::size_t position,
                      double theta);

}  // namespace qfs
