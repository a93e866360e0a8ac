// The dot product of the fast kernels: one stored row against a few fp32 vectors.
#pragma once

#include <array>
#include <cstddef>

namespace qfs {

/// Partial sums of one dot product. A constant of the code, so that the order of a sum depends
/// neither on the width of the machine's vectors nor on how many vectors share the row.
inline constexpr std::size_t dot_lanes = 8;
using DotLanes = std::array<float, dot_lanes>;

inline float sum_of(const DotLanes& lanes) {
  std::array<float, 4> half;
#pragma omp simd
  for (std::size_t j = 0; j < 4; ++j) {
    half[j] = lanes[j] + lanes[j + 4];
  }
  return (half[0] + half[2]) + (half[1] + half[3]);
}

/// row . vectors[h] for every h < Vectors; vector h starts at vectors + h * stride and all have
/// `size` values. Element c always lands in lane c % dot_lanes.
template <std::size_t Vectors>
std::array<float, Vectors> dots(const float* row, const float* vectors, std::size_t stride,
                                std::size_t size) {
  std::array<DotLanes, Vectors> sums{};
  std::size_t c = 0;
  for (; c + dot_lanes <= size; c += dot_lanes) {
    for (std::size_t h = 0; h < Vectors; ++h) {
#pragma omp simd
      for (std::size_t j = 0; j < dot_lanes; ++j) {
        sums[h][j] += row[c + j] * vectors[h * stride + c + j];
      }
    }
  }
  std::array<float, Vectors> results;
  for (std::size_t h = 0; h < Vectors; ++h) {
    for (std::size_t j = 0; c + j < size; ++j) {
      sums[h][j] += row[c + j] * vectors[h * stride + c + j];
    }
    results[h] = sum_of(sums[h]);
  }
  return results;
}

}  // namespace qfs
