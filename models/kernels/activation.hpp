// SwiGLU (Shazeer, 2020): y = silu(gate) * up, silu(g) = g / (1 + exp(-g)).
#pragma once

#include <span>

namespace qfs {

/// gate, up and y have one size; y may be gate or up.
void swiglu(std::span<const float> gate, std::span<const float> up, std::span<float> y);
void swiglu_reference(std::span<const double> gate, std::span<const double> up,
                      std::span<double> y);

}  // namespace qfs
