#include <algorithm>
#include <vector>

#include "analysis/fluid_memory.hpp"
#include "base/random.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

struct Start {
  double time;
  std::int64_t bytes;
};

/// The end of each stream; starts in the order of time.
std::vector<double> ends_of(double bandwidth, const std::vector<Start>& starts) {
  FluidMemory memory{BytesPerSecond(bandwidth)};
  std::vector<double> ends(starts.size());
  const auto take_until = [&](double time) {
    for (double end = memory.next_end(); end <= time && end < unlimited; end = memory.next_end()) {
      ends[memory.take_end_by(end).value()] = end;
    }
  };
  for (const Start& start : starts) {
    take_until(start.time);
    memory.add(start.time, Bytes(start.bytes));
  }
  take_until(unlimited);
  CHECK_FALSE(memory.take_end_by(unlimited).has_value());
  return ends;
}

}  // namespace

TEST_CASE("a stream alone takes its bytes over the bandwidth") {
  CHECK(ends_of(4, {{1, 10}, {5, 0}}) == std::vector<double>{3.5, 5});
}

TEST_CASE("streams in flight share the bandwidth fairly") {
  // The second has half the bandwidth from 4 on; the first 4 s alone, 4 s shared, 4 s alone.
  CHECK(ends_of(1, {{0, 10}, {4, 2}, {5, 0}}) == std::vector<double>{12, 8, 5});
}

TEST_CASE("three streams") {
  const std::vector<double> ends = ends_of(1, {{0, 6}, {1, 2}, {2, 3}});
  CHECK(ends[1] == Approx(6.5).epsilon(1e-14));  // .5 by 2, then thirds
  CHECK(ends[2] == Approx(9.5).epsilon(1e-14));
  CHECK(ends[0] == Approx(11).epsilon(1e-14));
}

TEST_CASE("a stream is taken at its end and not before") {
  FluidMemory memory(BytesPerSecond(1));
  memory.add(0, Bytes(3));
  CHECK(memory.next_end() == 3);
  CHECK_FALSE(memory.take_end_by(2.999).has_value());
  CHECK(memory.take_end_by(3) == std::size_t{0});
  CHECK(memory.next_end() == unlimited);
}

TEST_CASE("with unlimited bandwidth streams take no time") {
  CHECK(ends_of(unlimited, {{2, 1'000'000}, {2, 7}}) == std::vector<double>{2, 2});
}

TEST_CASE("a busy memory moves every byte at its bandwidth") {
  const Random random(1, 0);
  for (std::uint64_t trial = 0; trial < 100; ++trial) {
    std::vector<Start> starts{{0, 8'000}};
    std::int64_t total = 8'000;  // keeps the memory busy until the last start
    for (std::uint64_t i = 0; i < 12; ++i) {
      const std::uint64_t draw = 32 * trial + 2 * i;
      const auto bytes = static_cast<std::int64_t>(random.below(draw, 900));
      total += bytes;
      starts.push_back({random.uniform(draw + 1, 0, 999), bytes});
    }
    std::sort(starts.begin(), starts.end(),
              [](const Start& a, const Start& b) { return a.time < b.time; });
    const std::vector<double> ends = ends_of(8, starts);
    CHECK(*std::max_element(ends.begin(), ends.end()) ==
          Approx(static_cast<double>(total) / 8).epsilon(1e-12));
  }
}

}  // namespace qfs
