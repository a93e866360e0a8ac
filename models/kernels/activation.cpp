#include "kernels/activation.hpp"

#include <cassert>
#include <cmath>
#include <cstddef>

namespace qfs {

void swiglu(std::span<const float> gate, std::span<const float> up, std::span<float> y) {
  assert(up.size() == gate.size() && y.size() == gate.size());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    // exp may overflow to infinity far below zero: the quotient is then the right zero.
    y[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  }
}

void swiglu_reference(std::span<const double> gate, std::span<const double> up,
                      std::span<double> y) {
  assert(up.size() == gate.size() && y.size() == gate.size());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double small = std::exp(-std::abs(gate[i]));
    const double sigmoid = gate[i] >= 0 ? 1 / (1 + small) : small / (1 + small);
    y[i] = gate[i] * sigmoid * up[i];
  }
}

}  // namespace qfs
