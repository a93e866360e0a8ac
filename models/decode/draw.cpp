#include "decode/draw.hpp"

#include <algorithm>
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

void fill_uniform(const Random& random, double mean, double deviation, std::span<Bf16> values) {
  const auto base = static_cast<float>(mean);
  const auto scale = static_cast<float>(deviation);
  std::array<float, 8> drawn{};
  for (std::size_t i = 0; i < values.size(); i += drawn.size()) {
    draw_eight(random, i / drawn.size(), drawn);
    const std::size_t count = std::min(drawn.size(), values.size() - i);
    for (std::size_t j = 0; j < count; ++j) {
      values[i + j] = to_bf16(base + scale * drawn[j]);
    }
  }
}

}  // namespace qfs
