#include <numeric>
#include <vector>

#include "analysis/shard_rows.hpp"
#include "tests/analysis/varied_case.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using Rows = std::vector<std::size_t>;

AnalyticParameters split(SplitBy by, std::size_t devices, std::size_t context) {
  AnalyticParameters parameters;
  parameters.split.by = by;
  parameters.split.devices = devices;
  parameters.context = context;
  return parameters;
}

}  // namespace

TEST_CASE("positions: ranges as even as can be, and the shortest shard grows") {
  ShardRows rows(split(SplitBy::positions, 3, 5), 0);  // [0, 1), [1, 3), [3, 5)
  const std::vector<std::size_t> appended_to{0, 0, 1, 2, 0};
  std::vector<std::size_t> want{1, 2, 2};
  for (const std::size_t shard : appended_to) {
    for (std::size_t s = 0; s < 3; ++s) {
      CHECK(rows.before(s) == Rows{want[s]});
      CHECK(rows.takers(s) == (s == shard ? Rows{0} : Rows{}));
    }
    CHECK(rows.after(shard) == Rows{want[shard] + 1});
    rows.end_step();
    ++want[shard];
  }
}

TEST_CASE("more devices than positions, and none at all") {
  const ShardRows one(split(SplitBy::positions, 2, 1), 0);
  CHECK(one.before(0) == Rows{0});
  CHECK(one.before(1) == Rows{1});
  CHECK(one.takers(0) == Rows{0});
  const ShardRows none(split(SplitBy::positions, 2, 0), 0);
  CHECK(none.before(1) == Rows{0});
  CHECK(none.takers(0) == Rows{0});
  CHECK(none.takers(1) == Rows{});
}

TEST_CASE("heads: every device has every row") {
  AnalyticParameters parameters = split(SplitBy::heads, 2, 7);
  parameters.batch = 2;
  ShardRows rows(parameters, 0);
  rows.end_step();
  for (const std::size_t shard : {0, 1}) {
    CHECK(rows.before(shard) == Rows{8, 8});
    CHECK(rows.takers(shard) == Rows{0, 1});
  }
}

TEST_CASE("requests of different contexts have rows of their own") {
  AnalyticParameters parameters = split(SplitBy::positions, 2, 0);
  parameters.batch = 3;
  parameters.contexts = {5, 0, 4};
  ShardRows rows(parameters, 1);
  CHECK(rows.before(0) == Rows{2, 0, 2});
  CHECK(rows.before(1) == Rows{3, 0, 2});
  CHECK(rows.takers(0) == Rows{0, 1, 2});
  rows.end_step();
  CHECK(rows.takers(1) == Rows{1, 2});
}

TEST_CASE("any: the rows of the wave's own requests") {
  AnalyticParameters parameters = split(SplitBy::any, 2, 4);
  parameters.batch = 2;
  parameters.in_flight = 2;
  parameters.scattered_rows = {{4, 0}, {4, 0}, {1, 3}, {2, 2}};
  ShardRows rows(parameters, 1);
  CHECK(rows.before(0) == Rows{1, 2});
  CHECK(rows.before(1) == Rows{3, 2});
  CHECK(rows.takers(0) == Rows{0, 1});
  CHECK(rows.takers(1) == Rows{});
  rows.end_step();
  CHECK(rows.before(0) == Rows{2, 3});
  CHECK(rows.takers(0) == Rows{0});
  CHECK(rows.takers(1) == Rows{1});
}

TEST_CASE("whatever the split, no row is lost") {
  for (std::size_t number = 0; number < 200; ++number) {
    const AnalyticParameters parameters = test::varied_case(number);
    const bool by_heads = parameters.split.by == SplitBy::heads;
    ShardRows rows(parameters, parameters.in_flight - 1);
    for (std::size_t step = 0; step < parameters.tokens; ++step) {
      Rows sum(parameters.batch);
      for (std::size_t shard = 0; shard < parameters.split.devices; ++shard) {
        for (std::size_t member = 0; member < parameters.batch; ++member) {
          sum[member] += rows.before(shard)[member];
        }
      }
      const std::size_t copies = by_heads ? parameters.split.devices : 1;
      CHECK(sum == Rows(parameters.batch, copies * (parameters.context + step)));
      rows.end_step();
    }
  }
}

}  // namespace qfs
