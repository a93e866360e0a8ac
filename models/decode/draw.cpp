#include "decode/draw.hpp"

#include <array>
#include <numbers>

namespace qfs {

void draw_eight(const Random& random, std::uint64_t index, std::span<float, 8> values) {
  constexpr float step = std::numbers::sqrt3_v<float> / 32768.0F;
  const RandomBlock bits = random.block(index);
  for (std::size_t i = 0; i < 4; ++i) {
    values[2 * i] = (static_cast<float>(bits[i] & 0xFFFFU) - 32767.5F) * step;
    values[2 * i + 1] = (static_cast<float>(bits[i] >> 16U) - 32767.5F) * step;
  }
}

void fill_uniform(const Random& random, double mean, double deviation, std::size_t first,
                  std::span<float> values) {
  const auto base = static_cast<float>(mean);
  const auto scale = static_cast<float>(deviation);
  std::array<float, 8> drawn{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t lane = (first + i) % drawn.size();
    if (i == 0 || lane == 0) {
      draw_eight(random, (first + i) / drawn.size(), drawn);
    }
    values[i] = base + scale * drawn[lane];
  }
}

}  // namespace qfs
