#include "kernels/rotary.hpp"

#include <cassert>
#include <cmath>
#include <complex>

namespace qfs {

void rotary(std::span<float> heads, std::size_t head_dim, std::size_t position, double theta) {
  assert(head_dim >= 2 && head_dim % 2 == 0 && heads.size() % head_dim == 0 && theta > 0);
  const std::size_t half = head_dim / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
    const double angle = static_cast<double>(position) * std::pow(theta, exponent);
    const auto cosine = static_cast<float>(std::cos(angle));
    const auto sine = static_cast<float>(std::sin(angle));
    // All heads turn by the same angle, whose sine and cosine are the dear part.
    for (std::size_t at = i; at < heads.size(); at += head_dim) {
      const float x = heads[at];
      const float y = heads[at + half];
      heads[at] = x * cosine - y * sine;
      heads[at + half] = y * cosine + x * sine;
    }
  }
}

// Each pair is a complex number, turned by a product with a unit one.
void rotary_reference(std::span<double> heads, std::size_t head_dim, std::size_t position,
                      double theta) {
  assert(head_dim >= 2 && head_dim % 2 == 0 && heads.size() % head_dim == 0 && theta > 0);
  const std::size_t half = head_dim / 2;
  for (std::size_t h = 0; h < heads.size() / head_dim; ++h) {
    const std::span<double> head = heads.subspan(h * head_dim, head_dim);
    for (std::size_t i = 0; i < half; ++i) {
      const double part = static_cast<double>(i) / static_cast<double>(half);
      const double angle = static_cast<double>(position) / std::pow(theta, part);
      const auto turned = std::complex(head[i], head[i + half]) * std::polar(1.0, angle);
      head[i] = turned.real();
      head[i + half] = turned.imag();
    }
  }
}

}  // namespace qfs
