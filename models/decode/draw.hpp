// Filling weights and caches with random values, fast: eight values from each 128-bit block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/random.hpp"

namespace qfs {

/// Whose random stream it is; every (owner, a, b) is a stream of its own.
enum class StreamOwner : std::uint64_t { weights, cache, inputs, tokens, split };

/// a < 2^32, b < 2^24.
constexpr std::uint64_t stream_of(StreamOwner owner, std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(owner) << 56U | b << 32U | a;
}

/// Eight values with mean 0 and deviation 1, uniform in (-sqrt 3, sqrt 3), from block `index`.
void draw_eight(const Random& random, std::uint64_t index, std::span<float, 8> values);

/// values[i] = mean + deviation * u, u as above: element (first + i) % 8 of block (first + i) / 8.
void fill_uniform(const Random& random, double mean, double deviation, std::size_t first,
                  std::span<float> values);

}  // namespace qfs
