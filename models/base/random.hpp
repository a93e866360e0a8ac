// The one source of random numbers: a pure function of (seed, stream, counter), so that any element
// of any weight or cache can be drawn alone, in any order, on any machine, with the same result.
// Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), tested
// against its published known answers.
#pragma once

#include <array>
#include <cstdint>

namespace qfs {

using RandomBlock = std::array<std::uint32_t, 4>;

/// The raw generator: 128 random bits for a 128-bit counter under a 64-bit key.
RandomBlock philox4x32(const RandomBlock& counter, const std::array<std::uint32_t, 2>& key);

/// Numbers of one named stream of a seed. Stateless: the caller counts.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  /// 128 bits, block number `index` of this stream.
  [[nodiscard]] RandomBlock block(std::uint64_t index) const;
  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double uniform(std::uint64_t index) const;
  /// Uniform in [low, high).
  [[nodiscard]] double uniform(std::uint64_t index, double low, double high) const;
  /// Standard normal (Box-Muller).
  [[nodiscard]] double normal(std::uint64_t index) const;
  /// Uniform in {0, ..., count - 1}; count >= 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t index, std::uint64_t count) const;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace qfs
