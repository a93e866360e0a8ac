// How a cache is cut: which shard holds which position, who takes the rows to come, and that the
// pieces are the whole's own bits.
#include "decode/cache_split.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <vector>

#include "decode/inputs.hpp"
#include "decode/kv_cache.hpp"
#include "kernels/row_store.hpp"
#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr std::size_t tokens = 7;

std::vector<std::size_t> range(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> all(end - begin);
  std::iota(all.begin(), all.end(), begin);
  return all;
}

std::vector<std::vector<std::size_t>> initial_of(const ShardPlan& plan, std::size_t devices) {
  std::vector<std::vector<std::size_t>> shards;
  for (std::size_t shard = 0; shard < devices; ++shard) {
    shards.push_back(plan.initial(shard));
  }
  return shards;
}

/// Plays the appends by the rule itself: to the shortest, the lowest index among equals.
void check_appends(const ShardPlan& plan, std::size_t devices) {
  std::vector<std::size_t> rows;
  for (const auto& shard : initial_of(plan, devices)) {
    rows.push_back(shard.size());
  }
  for (std::size_t token = 0; token < tokens; ++token) {
    const auto shortest =
        static_cast<std::size_t>(std::min_element(rows.begin(), rows.end()) - rows.begin());
    for (std::size_t shard = 0; shard < devices; ++shard) {
      CHECK(plan.rows(shard, token) == rows[shard]);
      CHECK(plan.takes_append(shard, token) == (shard == shortest));
    }
    ++rows[shortest];
  }
  for (std::size_t shard = 0; shard < devices; ++shard) {
    CHECK(plan.rows(shard, tokens) == rows[shard]);
  }
}

/// The rows of a head's K or V as they lie in the cache.
std::vector<std::byte> raw_rows(const std::byte* values, const KvRows& rows, std::size_t head) {
  const std::size_t width = rows.head_dim * bytes_per_value(rows.format);
  const std::byte* first = values + head * rows.head_rows * width;
  return {first, first + rows.positions * width};
}

KvCache drawn_cache(const ModelShape& shape, Format format, std::size_t positions) {
  KvCache cache(shape, format, positions + 2);
  for (std::size_t t = 0; t < positions; ++t) {
    cache.append(test::draw_floats(shape.kv_width(), 1, t),
                 test::draw_floats(shape.kv_width(), 2, t));
  }
  return cache;
}

}  // namespace

TEST_CASE("positions: contiguous ranges as even as can be, each position once") {
  for (const std::size_t devices : {1U, 2U, 3U, 8U, 16U}) {
    for (const std::size_t context : {0U, 1U, 2U, 7U, 8U, 9U, 130U}) {
      const ShardPlan plan({devices, SplitBy::positions}, 0, context, tokens);
      CAPTURE(devices, context);
      for (std::size_t shard = 0; shard < devices; ++shard) {
        CHECK(plan.initial(shard) ==
              range(shard * context / devices, (shard + 1) * context / devices));
        CHECK(plan.initial(shard).size() >= context / devices);
        CHECK(plan.initial(shard).size() <= (context + devices - 1) / devices);
      }
      CHECK(plan.initial(0).size() == context / devices);
      check_appends(plan, devices);
    }
  }
}

TEST_CASE("positions, by hand: five rows on three devices and the rows that come") {
  const ShardPlan plan({3, SplitBy::positions}, 0, 5, 4);
  CHECK(plan.initial(0) == std::vector<std::size_t>{0});
  CHECK(plan.initial(1) == std::vector<std::size_t>{1, 2});
  CHECK(plan.initial(2) == std::vector<std::size_t>{3, 4});
  // 1 2 2, then 2 2 2, 3 2 2, 3 3 2, 3 3 3.
  CHECK(plan.takes_append(0, 0));
  CHECK(plan.takes_append(0, 1));
  CHECK(plan.takes_append(1, 2));
  CHECK(plan.takes_append(2, 3));
  CHECK(plan.rows(0, 4) == 3);
  CHECK(plan.rows(2, 3) == 2);
}

TEST_CASE("heads: every shard holds every position and takes every row") {
  for (const std::size_t context : {0U, 1U, 33U}) {
    const ShardPlan plan({4, SplitBy::heads}, 2, context, tokens);
    for (std::size_t shard = 0; shard < 4; ++shard) {
      CHECK(plan.initial(shard) == range(0, context));
      for (std::size_t token = 0; token < tokens; ++token) {
        CHECK(plan.takes_append(shard, token));
        CHECK(plan.rows(shard, token) == context + token);
      }
    }
  }
}

TEST_CASE("any: each position once, unevenly, and some shards empty") {
  std::size_t empty = 0;
  std::size_t uneven = 0;
  std::set<std::vector<std::vector<std::size_t>>> different;
  for (std::size_t request = 0; request < 40; ++request) {
    for (const std::size_t context : {0U, 1U, 3U, 200U}) {
      const CacheSplit split{4, SplitBy::any};
      const ShardPlan plan(split, request, context, tokens);
      CAPTURE(request, context);
      std::vector<std::size_t> all;
      for (const auto& shard : initial_of(plan, 4)) {
        CHECK(std::is_sorted(shard.begin(), shard.end()));
        all.insert(all.end(), shard.begin(), shard.end());
        empty += context == 200 && shard.empty() ? 1 : 0;
        uneven += context == 200 && shard.size() > 100 ? 1 : 0;
      }
      std::sort(all.begin(), all.end());
      CHECK(all == range(0, context));
      check_appends(plan, 4);
      if (context == 200) {
        different.insert(initial_of(plan, 4));
        CHECK(initial_of(ShardPlan(split, request, context, 1), 4) == initial_of(plan, 4));
      }
    }
  }
  // A shard is given nothing with a chance of a quarter.
  CHECK(empty > 20);
  CHECK(empty < 60);
  CHECK(uneven > 5);
  CHECK(different.size() > 30);  // alike only where one shard has it all
}

TEST_CASE("any depends on its seed and on nothing but it") {
  CacheSplit split{3, SplitBy::any};
  const auto first = initial_of(ShardPlan(split, 5, 100, 1), 3);
  CHECK(initial_of(ShardPlan(split, 5, 100, 1), 3) == first);
  split.seed = 2;
  CHECK(initial_of(ShardPlan(split, 5, 100, 1), 3) != first);
}

TEST_CASE("a selected cache has the chosen heads and positions bit for bit, and goes on alone") {
  ModelShape shape = test::tiny_shape();
  shape.kv_heads = 4;
  const Format format = GENERATE(Format::fp32, Format::bf16, Format::fp8_e4m3, Format::int8);
  const KvCache whole = drawn_cache(shape, format, 9);
  const std::vector<std::vector<std::size_t>> choices{{}, {8}, {0, 1, 2}, {1, 4, 5, 7}};
  for (const std::vector<std::size_t>& chosen : choices) {
    for (const Part part : {Part{}, Part{0, 2}, Part{1, 2}, Part{3, 4}}) {
      CAPTURE(name_of(format), chosen.size(), part.index, part.count);
      KvCache piece = whole.selected(part, chosen, chosen.size() + 1);
      REQUIRE(piece.positions() == chosen.size());
      const std::size_t heads = shape.kv_heads / part.count;
      std::vector<float> k(shape.head_dim);
      std::vector<float> v(shape.head_dim);
      std::vector<float> want_k(shape.head_dim);
      std::vector<float> want_v(shape.head_dim);
      for (std::size_t head = 0; head < heads; ++head) {
        for (std::size_t row = 0; row < chosen.size(); ++row) {
          piece.read_head(head, row, k, v);
          whole.read_head(part.index * heads + head, chosen[row], want_k, want_v);
          CHECK(k == want_k);
          CHECK(v == want_v);
        }
      }
      const std::vector<float> more = test::draw_floats(heads * shape.head_dim, 3, 0);
      piece.append(more, more);
      CHECK(piece.positions() == chosen.size() + 1);
      CHECK_THROWS(piece.append(more, more));  // room for one more was asked for
      CHECK(whole.positions() == 9);
    }
  }
}

TEST_CASE("all of a cache selected is the cache") {
  const ModelShape shape = test::tiny_shape();
  const KvCache whole = drawn_cache(shape, Format::bf16, 5);
  const KvCache same = whole.selected({}, range(0, 5), 7);
  for (std::size_t head = 0; head < shape.kv_heads; ++head) {
    const KvRows a = whole.rows(5);
    const KvRows b = same.rows(5);
    CHECK(raw_rows(a.k, a, head) == raw_rows(b.k, b, head));
    CHECK(raw_rows(a.v, a, head) == raw_rows(b.v, b, head));
  }
}

TEST_CASE("the shards of an inputs' cache hold what the plan says, with room for their appends") {
  const InputsConfig config{test::tiny_shape(), {}, 4, {0, 11}, 3, false};
  const Inputs inputs(config);
  for (const auto& [by, name] : enum_names<SplitBy>) {
    const CacheSplit split{2, by};
    for (RequestId request{0}; request.value() < 2; ++request) {
      const std::size_t context = config.contexts[request.value()];
      const ShardPlan plan(split, request.value(), context, config.tokens);
      for (std::size_t shard = 0; shard < 2; ++shard) {
        CAPTURE(name, request.value(), shard);
        KvCache piece = inputs.cache_shard(request, LayerId(1), split, shard);
        CHECK(piece.positions() == plan.initial(shard).size());
        const std::size_t heads = by == SplitBy::heads ? 1 : 2;
        const std::vector<float> row(heads * config.shape.head_dim, 1.0F);
        const std::size_t room = plan.rows(shard, config.tokens) - piece.positions();
        for (std::size_t i = 0; i < room; ++i) {
          piece.append(row, row);
        }
        CHECK_THROWS(piece.append(row, row));
      }
    }
  }
}

TEST_CASE("columns and rows of a matrix are its own bits, and side by side they are the matrix") {
  const Format format =
      GENERATE(Format::fp32, Format::fp16, Format::bf16, Format::fp8_e5m2, Format::int8);
  constexpr std::size_t rows = 6;
  constexpr std::size_t columns = 12;
  RowStore store(format, rows, columns);
  for (std::size_t row = 0; row < rows; ++row) {
    store.write(row, test::draw_floats(columns, 7, row));
  }
  const Matrix whole = store.view();
  for (const std::size_t parts : {1U, 2U, 3U, 12U}) {
    const std::size_t width = columns / parts;
    for (std::size_t part = 0; part < parts; ++part) {
      const RowStore piece = RowStore::of_columns(whole, part * width, width);
      REQUIRE(piece.view().columns == width);
      REQUIRE(piece.view().rows == rows);
      CAPTURE(name_of(format), parts, part);
      for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t value = bytes_per_value(format);
        const auto want = whole.row_values(row).subspan(part * width * value, width * value);
        const auto got = piece.view().row_values(row);
        CHECK(std::equal(got.begin(), got.end(), want.begin(), want.end()));
        CHECK(piece.view().scale(row) == whole.scale(row));
      }
    }
  }
  for (const std::size_t parts : {1U, 2U, 3U, 6U}) {
    const std::size_t height = rows / parts;
    for (std::size_t part = 0; part < parts; ++part) {
      const Matrix piece = rows_of(whole, part * height, height);
      REQUIRE(piece.rows == height);
      REQUIRE(piece.columns == columns);
      for (std::size_t row = 0; row < height; ++row) {
        CHECK(piece.row_values(row).data() == whole.row_values(part * height + row).data());
        CHECK(piece.scale(row) == whole.scale(part * height + row));
      }
    }
  }
  CHECK(rows_of(whole, rows, 0).rows == 0);
}

}  // namespace qfs
