#include "base/random.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/support/catch.hpp"

using namespace qfs;

namespace {

constexpr std::size_t draws = 200'000;
// Six standard deviations of the mean of `draws` numbers of unit variance.
const double mean_tolerance = 6 / std::sqrt(static_cast<double>(draws));

struct Moments {
  double mean = 0;
  double variance = 0;
  double fourth = 0;  // central
};

template <class Draw>
Moments moments(Draw draw) {
  Moments m;
  for (std::size_t i = 0; i < draws; ++i) {
    m.mean += draw(i) / draws;
  }
  for (std::size_t i = 0; i < draws; ++i) {
    const double square = (draw(i) - m.mean) * (draw(i) - m.mean);
    m.variance += square / draws;
    m.fourth += square * square / draws;
  }
  return m;
}

}  // namespace

// Vectors of the Random123 distribution, kat_vectors, philox4x32-10.
TEST_CASE("philox gives its published answers") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) ==
        RandomBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        RandomBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        RandomBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a draw is a function of seed, stream and index alone") {
  const Random random(1, 2);
  const Random again(1, 2);
  CHECK(random.block(5) == again.block(5));
  CHECK(random.normal(5) == again.normal(5));
  CHECK(random.block(5) != random.block(6));
  CHECK(random.block(5) != Random(1, 3).block(5));
  CHECK(random.block(5) != Random(2, 2).block(5));
  // The upper halves count too.
  CHECK(random.block(5) != random.block(5 + (std::uint64_t{1} << 32U)));
  CHECK(random.block(5) != Random(1 + (std::uint64_t{1} << 32U), 2).block(5));
  CHECK(random.block(5) != Random(1, 2 + (std::uint64_t{1} << 32U)).block(5));
}

TEST_CASE("uniform numbers lie between 0 and 1 with the moments of the uniform law") {
  const Random random(11, 1);
  std::size_t outside = 0;
  const Moments m = moments([&](std::size_t i) {
    const double u = random.uniform(i);
    outside += u >= 0 && u < 1 ? 0 : 1;
    return u;
  });
  CHECK(outside == 0);
  CHECK(std::abs(m.mean - 0.5) < mean_tolerance * std::sqrt(1.0 / 12));
  CHECK(std::abs(m.variance - 1.0 / 12) < mean_tolerance * std::sqrt(1.0 / 180));
  CHECK(random.uniform(3, -2, 6) == -2 + 8 * random.uniform(3));
}

TEST_CASE("normal numbers have the moments of the normal law") {
  const Random random(12, 1);
  const Moments m = moments([&](std::size_t i) { return random.normal(i); });
  CHECK(std::abs(m.mean) < mean_tolerance);
  CHECK(std::abs(m.variance - 1) < mean_tolerance * std::sqrt(2.0));
  CHECK(std::abs(m.fourth - 3) < mean_tolerance * std::sqrt(96.0));
  double neighbours = 0;
  for (std::size_t i = 0; i < draws; ++i) {
    neighbours += random.normal(i) * random.normal(i + 1) / draws;
  }
  CHECK(std::abs(neighbours) < mean_tolerance);
}

TEST_CASE("below reaches every number of its range, evenly, and no other") {
  const Random random(13, 1);
  constexpr std::size_t count = 7;
  std::vector<std::size_t> seen(count);
  for (std::size_t i = 0; i < draws; ++i) {
    const std::uint64_t value = random.below(i, count);
    REQUIRE(value < count);
    ++seen[value];
  }
  const double expected = static_cast<double>(draws) / count;
  for (const std::size_t times : seen) {
    CHECK(std::abs(static_cast<double>(times) - expected) < 6 * std::sqrt(expected));
  }
  CHECK(random.below(0, 1) == 0);
  CHECK(random.below(1, std::uint64_t{1} << 53U) < std::uint64_t{1} << 53U);
}
