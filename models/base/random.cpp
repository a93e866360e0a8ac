#include "base/random.hpp"

#include <cassert>
#include <cmath>
#include <numbers>

namespace qfs {
namespace {

// Multipliers and key increments of Philox4x32, from the paper.
constexpr std::uint64_t multiplier_0 = 0xD2511F53;
constexpr std::uint64_t multiplier_1 = 0xCD9E8D57;
constexpr std::uint32_t key_step_0 = 0x9E3779B9;
constexpr std::uint32_t key_step_1 = 0xBB67AE85;
constexpr int rounds = 10;

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32U); }

double to_unit(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t bits = (std::uint64_t{a} << 32U | b) >> 11U;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace

RandomBlock philox4x32(const RandomBlock& counter, const std::array<std::uint32_t, 2>& key) {
  RandomBlock c = counter;
  std::uint32_t k0 = key[0];
  std::uint32_t k1 = key[1];
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t p0 = multiplier_0 * c[0];
    const std::uint64_t p1 = multiplier_1 * c[2];
    c = {high(p1) ^ c[1] ^ k0, low(p1), high(p0) ^ c[3] ^ k1, low(p0)};
    k0 += key_step_0;
    k1 += key_step_1;
  }
  return c;
}

RandomBlock Random::block(std::uint64_t index) const {
  return philox4x32({low(index), high(index), low(stream_), high(stream_)},
                    {low(seed_), high(seed_)});
}

double Random::uniform(std::uint64_t index) const {
  const RandomBlock bits = block(index);
  return to_unit(bits[0], bits[1]);
}

double Random::uniform(std::uint64_t index, double low_end, double high_end) const {
  return low_end + uniform(index) * (high_end - low_end);
}

double Random::normal(std::uint64_t index) const {
  const RandomBlock bits = block(index);
  const double radius = std::sqrt(-2 * std::log1p(-to_unit(bits[0], bits[1])));
  return radius * std::cos(2 * std::numbers::pi * to_unit(bits[2], bits[3]));
}

std::uint64_t Random::below(std::uint64_t index, std::uint64_t count) const {
  assert(count >= 1);
  return static_cast<std::uint64_t>(uniform(index) * static_cast<double>(count));
}

}  // namespace qfs
