// The algebra of softmax states: merging, folding, and cutting a cache anywhere.
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "kernels/attention.hpp"
#include "tests/kernels/cache.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr float infinity_f = std::numeric_limits<float>::infinity();
constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();

constexpr double fp32_tolerance = 2e-6;
constexpr double fp64_tolerance = 1e-13;
// DESIGN section 8: 200 four-way splits at a score deviation of 30, fp64.
constexpr double split_tolerance = 1e-13;
constexpr std::size_t splits = 200;
constexpr double split_deviation = 30;
// In fp32 a score near 100 is off by some 1e-5, and its weight by as much.
constexpr double fp32_split_tolerance = 5e-5;

const std::vector<float> gaps{0, 1e-3F, 0.5F, 3, 20, 80, 200, 5000};

}  // namespace

TEST_CASE("log_add_exp where the naive form overflows") {
  CHECK(std::isinf(std::log(std::exp(100.0F) + std::exp(100.0F))));
  for (const double size : {0.0, 1.0, 100.0, -100.0, 200.0, -200.0}) {
    CAPTURE(size);
    const auto x = static_cast<float>(size);
    CHECK(log_add_exp(x, x) == Approx(size + std::numbers::ln2).epsilon(1e-6));
    CHECK(log_add_exp_reference(size, size) == Approx(size + std::numbers::ln2).epsilon(1e-14));
  }
  CHECK(log_add_exp(100, 98) == Approx(100.12692801104297).epsilon(1e-6));
  CHECK(log_add_exp_reference(100, 98) == Approx(100.12692801104297).epsilon(1e-14));
  CHECK(log_add_exp(-200, 200) == 200);
  CHECK(log_add_exp(200, -200) == 200);
}

TEST_CASE("log_add_exp of the empty") {
  CHECK(log_add_exp(-infinity_f, -infinity_f) == -infinity_f);
  CHECK(log_add_exp(-infinity_f, 3) == 3);
  CHECK(log_add_exp(3, -infinity_f) == 3);
  CHECK(log_add_exp_reference(-infinity, -infinity) == -infinity);
  CHECK(log_add_exp_reference(-infinity, 3) == 3);
  CHECK(log_add_exp_reference(3, -infinity) == 3);
}

TEST_CASE("merge by hand, both signs of the difference") {
  // Weights 3/4 and 1/4, then 1/4 and 3/4.
  const auto log_3 = static_cast<float>(std::log(3.0));
  std::vector<float> o{4, 8};
  const std::vector<float> other{-4, 0};
  CHECK(merge(o, log_3, other, 0) == Approx(std::log(4.0)).epsilon(1e-6));
  CHECK(max_difference(o, std::vector<double>{2, 6}) <= fp32_tolerance);
  o = {4, 8};
  CHECK(merge(o, 0, other, log_3) == Approx(std::log(4.0)).epsilon(1e-6));
  CHECK(max_difference(o, std::vector<double>{-2, 2}) <= fp32_tolerance);

  std::vector<double> exact{4, 8};
  CHECK(merge_reference(exact, std::log(3.0), to_doubles(other), 0) == Approx(std::log(4.0)));
  CHECK(max_difference(exact, std::vector<double>{2, 6}) <= fp64_tolerance);
}

TEST_CASE("merge agrees with its reference and does not care which side is which") {
  std::size_t checked = 0;
  const std::vector<float> a = draw_floats(33, 71, 1);
  const std::vector<float> b = draw_floats(33, 71, 2);
  for (const float base : {-200.0F, 0.0F, 100.0F}) {
    for (const float gap : gaps) {
      for (const float lse : {base + gap, base - gap}) {
        CAPTURE(base, lse);
        std::vector<double> truth = to_doubles(a);
        const double truth_lse = merge_reference(truth, double{lse}, to_doubles(b), double{base});
        std::vector<float> o = a;
        const float merged_lse = merge(o, lse, b, base);
        CHECK(max_difference(o, truth) <= fp32_tolerance);
        CHECK(double{merged_lse} == Approx(truth_lse).epsilon(1e-6).margin(1e-6));
        std::vector<float> swapped = b;
        CHECK(merge(swapped, base, a, lse) == merged_lse);
        CHECK(max_difference(swapped, o) <= fp32_tolerance);
        ++checked;
      }
    }
  }
  CHECK(checked == 3 * 2 * gaps.size());
}

TEST_CASE("the output of an empty state is never read") {
  const std::vector<float> full{1, -2, 3};
  const std::vector<float> poison(3, nan_f);
  std::vector<float> o = poison;
  CHECK(merge(o, -infinity_f, full, 5) == 5);
  CHECK(o == full);
  CHECK(merge(o, 5, poison, -infinity_f) == 5);
  CHECK(o == full);

  std::vector<double> exact = to_doubles(poison);
  CHECK(merge_reference(exact, -infinity, to_doubles(full), 5) == 5);
  CHECK(exact == to_doubles(full));
  CHECK(merge_reference(exact, 5, to_doubles(poison), -infinity) == 5);
  CHECK(exact == to_doubles(full));
}

TEST_CASE("two empty states are empty, and the next one joins as if alone") {
  const std::vector<float> full{1, -2, 3};
  const std::vector<float> poison(3, nan_f);
  std::vector<float> o = poison;
  const float lse = merge(o, -infinity_f, poison, -infinity_f);
  CHECK(lse == -infinity_f);
  CHECK(merge(o, lse, full, -7) == -7);
  CHECK(o == full);

  std::vector<double> exact = to_doubles(poison);
  const double exact_lse = merge_reference(exact, -infinity, to_doubles(poison), -infinity);
  CHECK(exact_lse == -infinity);
  CHECK(merge_reference(exact, exact_lse, to_doubles(full), -7) == -7);
  CHECK(exact == to_doubles(full));
}

namespace {

// The last position of every KV head of `cache`.
std::vector<float> last_rows(const Shape& shape, const std::vector<float>& rows) {
  std::vector<float> last;
  for (std::size_t h = 1; h <= shape.kv_heads; ++h) {
    const auto end =
        rows.begin() + static_cast<std::ptrdiff_t>(h * shape.positions * shape.head_dim);
    last.insert(last.end(), end - static_cast<std::ptrdiff_t>(shape.head_dim), end);
  }
  return last;
}

void check_fold(const Shape& shape, double deviation) {
  CAPTURE(shape.heads, shape.kv_heads, shape.positions, deviation);
  const std::vector<float> q = draw_query(shape, 72, deviation);
  const Cache cache = draw_cache(shape, 72);
  KvRows but_last = cache.rows();
  --but_last.positions;
  const std::vector<float> k = last_rows(shape, cache.k);
  const std::vector<float> v = last_rows(shape, cache.v);

  States<float> folded = swept(q, but_last);
  fold(q, k, v, shape.head_dim, folded.o, folded.lse);
  const States<float> whole = swept(q, cache.rows());
  CHECK(max_difference(folded.o, whole.o) <= fp32_tolerance * deviation);
  CHECK(max_difference(folded.lse, whole.lse) <= 5 * fp32_tolerance * deviation);

  States<double> exact = swept_reference(to_doubles(q), but_last);
  fold_reference(to_doubles(q), to_doubles(k), to_doubles(v), shape.head_dim, exact.o, exact.lse);
  const States<double> exact_whole = swept_reference(to_doubles(q), cache.rows());
  CHECK(max_difference(exact.o, exact_whole.o) <= fp64_tolerance);
  CHECK(max_difference(exact.lse, exact_whole.lse) <= fp64_tolerance);
  CHECK(max_difference(folded.o, exact.o) <= fp32_tolerance * deviation);
}

}  // namespace

TEST_CASE("folding the last position in equals the sweep of all") {
  std::size_t checked = 0;
  for (const std::size_t positions : {1U, 2U, 3U, 64U, 65U, 66U, 1001U}) {
    check_fold({4, 2, 64, positions}, 1);
    check_fold({3, 3, 31, positions}, 1);
    check_fold({8, 1, 16, positions}, 5);
    checked += 3;
  }
  CHECK(checked == 21);
}

TEST_CASE("a fold in which the past counts for nothing, or the present does") {
  const std::vector<float> q{200};
  const std::vector<float> one{1};
  const std::vector<float> minus_one{-1};
  const std::vector<float> v{7};
  std::vector<float> o{3};
  std::vector<float> lse{0};
  fold(q, minus_one, v, 1, o, lse);
  CHECK(o[0] == 3);
  CHECK(lse[0] == 0);
  fold(q, one, v, 1, o, lse);
  CHECK(o[0] == 7);
  CHECK(lse[0] == 200);
}

TEST_CASE("the first position folds into an empty state whose output is NaN") {
  const std::vector<float> q{2, 3};
  const std::vector<float> k{1};
  const std::vector<float> v{7};
  std::vector<float> o{nan_f, nan_f};
  std::vector<float> lse{-infinity_f, -infinity_f};
  fold(q, k, v, 1, o, lse);
  CHECK(o == std::vector<float>{7, 7});
  CHECK(lse == q);
}

namespace {

// Deals the rows of one KV head to four shards at random; in every fourth split only two shards get
// any.
std::vector<std::vector<std::size_t>> deal(std::size_t positions, std::uint64_t split) {
  const Random random(73, split);
  std::vector<std::vector<std::size_t>> shards(4);
  for (std::size_t t = 0; t < positions; ++t) {
    shards[random.below(t, split % 4 == 0 ? 2 : 4)].push_back(t);
  }
  return shards;
}

Cache gather(Shape shape, const Cache& cache, const std::vector<std::size_t>& taken) {
  std::vector<float> k;
  std::vector<float> v;
  for (const std::size_t t : taken) {
    for (std::size_t c = 0; c < shape.head_dim; ++c) {
      k.push_back(cache.k[t * shape.head_dim + c]);
      v.push_back(cache.v[t * shape.head_dim + c]);
    }
  }
  shape.positions = taken.size();
  return make_cache(shape, std::move(k), std::move(v));
}

// Merges any two states that are left, until one is: any order and any tree may come out.
template <class Value, class Merge>
States<Value> merge_all(std::vector<States<Value>> states, const Random& random, Merge merge_two) {
  std::uint64_t draws = 1000;
  while (states.size() > 1) {
    std::swap(states.back(), states[random.below(draws++, states.size())]);
    const States<Value> other = states.back();
    states.pop_back();
    States<Value>& into = states[random.below(draws++, states.size())];
    into.lse[0] = merge_two(into.o, into.lse[0], other.o, other.lse[0]);
  }
  return states[0];
}

constexpr Shape split_shape{1, 1, 64, 400};

}  // namespace

TEST_CASE("a cache may be cut anywhere and merged in any order") {
  std::size_t checked = 0;
  std::size_t empty_shards = 0;
  for (std::uint64_t split = 0; split < splits; ++split) {
    CAPTURE(split);
    const std::vector<double> q = to_doubles(draw_query(split_shape, split, split_deviation));
    const Cache cache = draw_cache(split_shape, split);
    std::vector<States<double>> states;
    for (const std::vector<std::size_t>& taken : deal(split_shape.positions, split)) {
      // An empty shard keeps its output of NaN.
      states.push_back(swept_reference(q, gather(split_shape, cache, taken).rows()));
      empty_shards += taken.empty() ? 1 : 0;
    }
    const States<double> merged = merge_all(std::move(states), Random(74, split), merge_reference);
    const States<double> whole = swept_reference(q, cache.rows());
    CHECK(max_difference(merged.o, whole.o) <= split_tolerance);
    CHECK(max_difference(merged.lse, whole.lse) <= split_tolerance);
    ++checked;
  }
  CHECK(checked == splits);
  CHECK(empty_shards >= splits / 4 * 2);
}

TEST_CASE("the same in fp32, with the fast kernels") {
  std::size_t checked = 0;
  for (std::uint64_t split = 0; split < splits; ++split) {
    CAPTURE(split);
    const std::vector<float> q = draw_query(split_shape, split, split_deviation);
    const Cache cache = draw_cache(split_shape, split);
    std::vector<States<float>> states;
    for (const std::vector<std::size_t>& taken : deal(split_shape.positions, split)) {
      states.push_back(swept(q, gather(split_shape, cache, taken).rows()));
      if (taken.empty()) {
        states.back().o.assign(split_shape.head_dim, nan_f);
      }
    }
    const States<float> merged = merge_all(std::move(states), Random(74, split), merge);
    const States<double> whole = swept_reference(to_doubles(q), cache.rows());
    CHECK(max_difference(merged.o, whole.o) <= fp32_split_tolerance);
    CHECK(max_difference(merged.lse, whole.lse) <= fp32_split_tolerance);
    ++checked;
  }
  CHECK(checked == splits);
}
