// What the shards of a cache return, put together again: in any order the state over the whole.
#include "decode/partials.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "decode/kv_cache.hpp"
#include "kernels/attention.hpp"
#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr std::size_t heads = 4;
constexpr std::size_t kv_heads = 2;
constexpr std::size_t d = 8;
constexpr double fp32_tolerance = 2e-6;  // DESIGN.md 8; 4e-7 is seen

struct Problem {
  KvCache cache;
  std::vector<float> q;
};

Problem problem(std::size_t context, std::uint64_t seed, double deviation = 1) {
  ModelShape shape = test::tiny_shape();
  shape.heads = heads;
  shape.kv_heads = kv_heads;
  shape.head_dim = d;
  Problem made{KvCache(shape, Format::fp32, std::max<std::size_t>(1, context)),
               test::draw_floats(heads * d, seed, 0, deviation)};
  for (std::size_t t = 0; t < context; ++t) {
    made.cache.append(test::draw_floats(kv_heads * d, seed, 2 * t + 1),
                      test::draw_floats(kv_heads * d, seed, 2 * t + 2));
  }
  return made;
}

Partial swept(const std::vector<float>& q, const KvCache& cache) {
  Partial state{std::vector<float>(q.size()), std::vector<float>(q.size() / d)};
  sweep(q, cache.rows(cache.positions()), state.o, state.lse);
  return state;
}

/// An empty shard's o may hold anything: here the worst.
std::vector<Partial> shards_of(const Problem& problem, const CacheSplit& split,
                               std::size_t request) {
  const std::size_t context = problem.cache.positions();
  const ShardPlan plan(split, request, context, 0);
  std::vector<Partial> partials;
  for (std::size_t shard = 0; shard < split.devices; ++shard) {
    const std::vector<std::size_t>& rows = plan.initial(shard);
    partials.push_back(swept(problem.q, problem.cache.selected({}, rows, rows.size() + 1)));
    if (rows.empty()) {
      std::fill(partials.back().o.begin(), partials.back().o.end(), std::nanf(""));
    }
  }
  return partials;
}

double distance(const Partial& a, const Partial& b) {
  return std::max(test::max_difference(a.o, b.o), test::max_difference(a.lse, b.lse));
}

bool same_bits(const Partial& a, const Partial& b) { return a.o == b.o && a.lse == b.lse; }

Partial merged(Partial a, const Partial& b) {
  for (std::size_t head = 0; head < a.lse.size(); ++head) {
    a.lse[head] = merge(std::span(a.o).subspan(head * d, d), a.lse[head],
                        std::span(b.o).subspan(head * d, d), b.lse[head]);
  }
  return a;
}

}  // namespace

TEST_CASE("split anywhere and merged in any order, the state is that of one sweep") {
  double worst = 0;
  for (const std::size_t context : {1U, 2U, 7U, 64U, 300U}) {
    for (const std::size_t devices : {1U, 2U, 3U, 5U, 8U}) {
      for (const SplitBy by : {SplitBy::positions, SplitBy::any}) {
        for (std::size_t request = 0; request < 6; ++request) {
          const Problem drawn = problem(context, request, request < 3 ? 1 : 10);
          const Partial whole = swept(drawn.q, drawn.cache);
          const std::vector<Partial> partials = shards_of(drawn, {devices, by}, request);
          for (const auto& [order, name] : enum_names<MergeOrder>) {
            CAPTURE(context, devices, name_of(by), request, name);
            const double apart = distance(merge_shards(partials, order), whole);
            CHECK(apart <= fp32_tolerance * (request < 3 ? 1 : 10));
            worst = std::max(worst, apart);
          }
        }
      }
    }
  }
  CHECK(worst > 0);  // or nothing was split
}

TEST_CASE("every order of arrival gives the state within bounds, not always its bits") {
  const Problem drawn = problem(120, 9);
  const Partial whole = swept(drawn.q, drawn.cache);
  const std::vector<Partial> partials = shards_of(drawn, {4, SplitBy::positions}, 0);
  const Partial fixed = merge_shards(partials, MergeOrder::fixed);
  std::vector<std::size_t> order(4);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::size_t permutations = 0;
  std::size_t other_bits = 0;
  do {
    std::vector<Partial> arrived;
    for (const std::size_t shard : order) {
      arrived.push_back(partials[shard]);
    }
    const Partial merged = merge_shards(arrived, MergeOrder::arrival);
    CHECK(distance(merged, whole) <= fp32_tolerance);
    other_bits += same_bits(merged, fixed) ? 0 : 1;
    ++permutations;
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(permutations == 24);
  CHECK(other_bits > 0);
}

TEST_CASE("fixed is one after the other, a tree is neighbours in pairs, bit for bit") {
  const Problem drawn = problem(90, 3);
  const std::vector<Partial> p = shards_of(drawn, {5, SplitBy::positions}, 0);
  const auto first = [&](std::size_t count) { return std::span(p).first(count); };
  const Partial pair = merged(p[0], p[1]);
  const Partial other_pair = merged(p[2], p[3]);
  CHECK(same_bits(merge_shards(first(1), MergeOrder::tree), p[0]));
  CHECK(same_bits(merge_shards(first(2), MergeOrder::tree), pair));
  CHECK(same_bits(merge_shards(first(3), MergeOrder::tree), merged(pair, p[2])));
  CHECK(same_bits(merge_shards(first(4), MergeOrder::tree), merged(pair, other_pair)));
  CHECK(same_bits(merge_shards(p, MergeOrder::tree), merged(merged(pair, other_pair), p[4])));
  const Partial in_turn = merged(merged(merged(pair, p[2]), p[3]), p[4]);
  CHECK(same_bits(merge_shards(p, MergeOrder::fixed), in_turn));
  CHECK(!same_bits(merge_shards(p, MergeOrder::tree), in_turn));
}

TEST_CASE("empty shards change no bit, and shards all empty are an empty state") {
  const Problem drawn = problem(40, 5);
  const Partial whole = swept(drawn.q, drawn.cache);
  const float none = -std::numeric_limits<float>::infinity();
  const Partial empty{std::vector<float>(heads * d, std::nanf("")),
                      std::vector<float>(heads, none)};
  for (const auto& [order, name] : enum_names<MergeOrder>) {
    CAPTURE(name);
    CHECK(same_bits(merge_shards(std::vector{empty, whole, empty, empty}, order), whole));
    CHECK(same_bits(merge_shards(std::vector{whole, empty}, order), whole));
    const Partial nothing = merge_shards(std::vector{empty, empty, empty}, order);
    CHECK(nothing.lse == empty.lse);
  }
}

TEST_CASE("states of different heads side by side are the state of all heads") {
  const Problem drawn = problem(33, 6);
  const Partial whole = swept(drawn.q, drawn.cache);
  std::vector<std::size_t> all(33);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<Partial> partials;
  for (std::size_t part = 0; part < 2; ++part) {
    const std::vector<float> q(drawn.q.begin() + static_cast<std::ptrdiff_t>(part * 2 * d),
                               drawn.q.begin() + static_cast<std::ptrdiff_t>((part + 1) * 2 * d));
    partials.push_back(swept(q, drawn.cache.selected({part, 2}, all, 33)));
  }
  CHECK(distance(join_heads(partials), whole) == 0);
  std::swap(partials[0], partials[1]);
  CHECK(distance(join_heads(partials), whole) > 0.01);
}

}  // namespace qfs
