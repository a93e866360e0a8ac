#include "sim/verify/draws.hpp"

#include <algorithm>
#include <cassert>

#include "base/random.hpp"

namespace qfs::verify {

std::vector<float> draw(std::size_t size, std::uint64_t seed, std::uint64_t stream,
                        double deviation) {
  const Random random(seed, stream);
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    values[i] = static_cast<float>(deviation * random.normal(i));
  }
  return values;
}

double median(std::vector<double> values) {
  assert(!values.empty());
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double greatest(std::span<const double> values) {
  assert(!values.empty());
  double most = values.front();
  for (const double value : values) {
    most = value <= most ? most : value;
    if (std::isnan(value)) {
      break;
    }
  }
  return most;
}

}  // namespace qfs::verify
