// Seeded draws, one after the other, for random test cases.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/enum_names.hpp"
#include "base/random.hpp"

namespace qfs::test {

class Draw {
 public:
  /// Another sequence for each seed and number.
  Draw(std::uint64_t seed, std::uint64_t number) : random_(seed, number) {}

  std::size_t between(std::size_t low, std::size_t high) {
    return low + static_cast<std::size_t>(random_.below(next_++, high - low + 1));
  }
  bool one_in(std::size_t chances) { return between(1, chances) == 1; }
  double uniform(double low, double high) { return random_.uniform(next_++, low, high); }
  double log_uniform(double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  }
  template <class Enum>
  Enum one_of() {
    return enum_names<Enum>[between(0, enum_names<Enum>.size() - 1)].first;
  }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

}  // namespace qfs::test
