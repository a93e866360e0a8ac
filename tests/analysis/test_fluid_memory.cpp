#include <algorithm>
#include <vector>

#include "analysis/fluid_memory.hpp"
#include "base/random.hpp"
#include "tests/support/catch.hpp"

namespace qfs {

TEST_CASE("a stream alone takes its bytes over the bandwidth") {
  FluidMemory memory(BytesPerSecond(4));
  const auto first = memory.add(1, Bytes(10));
  CHECK(memory.end(first) == 3.5);
  const auto empty = memory.add(5, Bytes(0));
  CHECK(memory.end(empty) == 5);
  CHECK(memory.end(first) == 3.5);
}

TEST_CASE("streams in flight share the bandwidth fairly") {
  FluidMemory memory(BytesPerSecond(1));
  const auto longer = memory.add(0, Bytes(10));
  const auto shorter = memory.add(4, Bytes(2));
  const auto empty = memory.add(5, Bytes(0));
  CHECK(memory.end(empty) == 5);
  CHECK(memory.end(shorter) == 8);  // half the bandwidth from 4 on
  CHECK(memory.end(longer) == 12);  // 4 alone, 2 of 4 shared, the last 4 alone
}

TEST_CASE("three streams, added in no order") {
  FluidMemory memory(BytesPerSecond(1));
  const auto third = memory.add(2, Bytes(3));
  const auto first = memory.add(0, Bytes(6));
  const auto second = memory.add(1, Bytes(2));
  CHECK(memory.end(second) == Approx(6.5).epsilon(1e-14));  // .5 by 2, then thirds
  CHECK(memory.end(third) == Approx(9.5).epsilon(1e-14));
  CHECK(memory.end(first) == 11);
}

TEST_CASE("an end is known before a time only if it lies strictly before") {
  FluidMemory memory(BytesPerSecond(1));
  const auto stream = memory.add(0, Bytes(3));
  CHECK_FALSE(memory.ends_before(stream, 2));
  CHECK_FALSE(memory.ends_before(stream, 3));
  CHECK(memory.ends_before(stream, 4));
}

TEST_CASE("with unlimited bandwidth streams take no time") {
  FluidMemory memory(BytesPerSecond{unlimited});
  const auto one = memory.add(2, Bytes(1'000'000));
  const auto other = memory.add(2, Bytes(7));
  CHECK(memory.end(one) == 2);
  CHECK(memory.end(other) == 2);
}

TEST_CASE("a busy memory moves every byte at its bandwidth") {
  const Random random(1, 0);
  for (std::uint64_t trial = 0; trial < 100; ++trial) {
    FluidMemory memory(BytesPerSecond(8));
    std::vector<FluidMemory::Stream> streams{memory.add(0, Bytes(8'000))};
    std::int64_t total = 8'000;  // keeps the memory busy until the last start
    for (std::uint64_t i = 0; i < 12; ++i) {
      const std::uint64_t draw = 32 * trial + 2 * i;
      const auto bytes = static_cast<std::int64_t>(random.below(draw, 900));
      total += bytes;
      streams.push_back(memory.add(random.uniform(draw + 1, 0, 999), Bytes(bytes)));
    }
    double last = 0;
    for (const auto stream : streams) {
      last = std::max(last, memory.end(stream));
    }
    CHECK(last == Approx(static_cast<double>(total) / 8).epsilon(1e-12));
  }
}

}  // namespace qfs
