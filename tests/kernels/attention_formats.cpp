// The attention kernels over every storage format, head size, grouping and instruction set, against
// fp64 on the values as kept.
#include "kernels/simd/targets.hpp"
//
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "kernels/attention.hpp"
#include "tests/kernels/cache.hpp"
#include "tests/kernels/on_target.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();

// As in DESIGN section 8: unit variance, absolute; of an lse below 10.
constexpr double o_tolerance = 2e-6;
constexpr double lse_tolerance = 3e-6;
constexpr double score_tolerance = 2e-6;  // of scores of unit variance
// Sums of about 4,000 values of unit variance under weights of unit variance: some 60 in size.
constexpr double sum_tolerance = 1e-4;

// Of the chunks into which a sweep is cut; the tests go around it.
constexpr std::size_t chunk = 4096;

std::vector<float> draw_queries(const Shape& shape, std::size_t queries, std::uint64_t seed) {
  return draw_floats(queries * shape.heads * shape.head_dim, seed, 103);
}

States<float> three_steps(std::span<const float> q, const KvRows& rows,
                          const SweepOptions& options = {}) {
  States<float> states(q.size() / rows.head_dim, rows.head_dim);
  std::vector<float> scratch(states.lse.size() * rows.positions, NAN);
  sweep_three_step(q, rows, scratch, states.o, states.lse, options);
  return states;
}

void check_close(const States<float>& fast, const States<double>& truth) {
  CHECK(max_difference(fast.o, truth.o) <= o_tolerance);
  CHECK(max_difference(fast.lse, truth.lse) <= lse_tolerance);
}

// Both forms of the sweep against fp64.
void check_sweeps(Format format, const Shape& shape, std::size_t queries, std::uint64_t seed) {
  CAPTURE(name_of(format), shape.heads, shape.kv_heads, shape.head_dim, shape.positions, queries);
  const Cache cache = draw_cache(shape, seed, format);
  const std::vector<float> q = draw_queries(shape, queries, seed);
  const States<double> truth = swept_reference(to_doubles(q), cache.rows(), queries);
  check_close(swept(q, cache.rows(), {.queries = queries}), truth);
  check_close(three_steps(q, cache.rows(), {.queries = queries}), truth);
}

}  // namespace

TEST_CASE("every format at every head size") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    for (const std::size_t head_dim : {1U, 7U, 33U, 64U, 80U, 96U, 128U, 256U}) {
      check_sweeps(format, {4, 2, head_dim, 131}, 1, 201);
      ++checked;
    }
  }
  CHECK(checked == 6 * 8);
}

TEST_CASE("every format at every grouping and number of queries") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    for (std::size_t queries = 1; queries <= 3; ++queries) {
      for (std::size_t group = 1; group <= 9; ++group) {
        check_sweeps(format, {group, 1, 40, 70}, queries, 202);
        check_sweeps(format, {3 * group, 3, 64, 65}, queries, 203);
        checked += 2;
      }
    }
  }
  CHECK(checked == 6 * 3 * 9 * 2);
}

TEST_CASE("every format around the blocks and chunks of positions") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    for (const std::size_t positions :
         {1U, 2U, 3U, 5U, 63U, 64U, 65U, 129U, 4095U, 4096U, 4097U, 8193U}) {
      check_sweeps(format, {2, 1, 32, positions}, 1, 204);
      ++checked;
    }
  }
  CHECK(checked == 6 * 12);
}

TEST_CASE("no positions give empty states in every form and format") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    const KvRows none{.format = format, .kv_heads = 1, .head_dim = 8};
    const std::vector<float> q(2 * 3 * 8, 1);
    const States<float> online = swept(q, none, {.queries = 2, .threads = 2});
    CHECK(online.o == std::vector<float>(q.size(), 0));
    CHECK(online.lse == std::vector<float>(6, -std::numeric_limits<float>::infinity()));
    CHECK(three_steps(q, none, {.queries = 2, .threads = 2}) == online);
    ++checked;
  }
  CHECK(checked == 6);
}

TEST_CASE("threads change no bit of any result") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    CAPTURE(name);
    const Shape shape{6, 2, 24, 2 * chunk + 77};
    const Cache cache = draw_cache(shape, 205, format);
    const std::vector<float> q = draw_queries(shape, 2, 205);
    const States<float> alone = swept(q, cache.rows(), {.queries = 2});
    const States<float> steps = three_steps(q, cache.rows(), {.queries = 2});
    CHECK(std::isfinite(alone.o[0]));
    for (const std::size_t threads : {2U, 3U, 16U}) {
      CHECK(swept(q, cache.rows(), {.queries = 2, .threads = threads}) == alone);
      CHECK(three_steps(q, cache.rows(), {.queries = 2, .threads = threads}) == steps);
      ++checked;
    }
  }
  CHECK(checked == 6 * 3);
}

TEST_CASE("heads and queries that share a pass get what each gets alone, bit for bit") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    CAPTURE(name);
    const Shape shape{14, 2, 128, 201};
    const Cache cache = draw_cache(shape, 206, format);
    const std::vector<float> q = draw_queries(shape, 2, 206);
    const States<float> together = swept(q, cache.rows(), {.queries = 2});
    for (std::size_t g = 0; g < 7; ++g) {
      // One head of each KV head, of the second query.
      States<float> expected(2, shape.head_dim);
      std::vector<float> pair;
      for (std::size_t h = 0; h < 2; ++h) {
        const std::size_t row = shape.heads + h * 7 + g;
        const auto at = static_cast<std::ptrdiff_t>(row * shape.head_dim);
        pair.insert(pair.end(), q.begin() + at, q.begin() + at + 128);
        std::copy_n(together.o.begin() + at, 128,
                    expected.o.begin() + static_cast<std::ptrdiff_t>(h * 128));
        expected.lse[h] = together.lse[row];
      }
      CHECK(swept(pair, cache.rows()) == expected);
      ++checked;
    }
  }
  CHECK(checked == 6 * 7);
}

namespace {

// One position and as many KV heads as hold every code of the format once, in V; K is zero. The
// output is then the value of each code.
std::vector<float> values_of_all_codes(Format format, std::vector<float>& expected) {
  constexpr std::size_t head_dim = 256;
  const std::size_t width = bytes_per_value(format);
  const std::size_t kv_heads = width == 1 ? 1 : 256;
  std::vector<std::byte> codes(kv_heads * head_dim * width);
  for (std::size_t code = 0; code < kv_heads * head_dim; ++code) {
    const auto low = static_cast<std::uint16_t>(code);
    std::memcpy(&codes[code * width], &low, width);  // little endian
  }
  const std::vector<std::byte> zeros(codes.size());
  const std::vector<float> scales(kv_heads, 0.5F);
  const KvRows rows{
      format, zeros.data(), codes.data(), scales.data(), scales.data(), kv_heads, head_dim, 1, 1};
  expected.resize(kv_heads * head_dim);
  decode_row(format, codes, 0.5F, expected);
  const std::vector<float> q(expected.size(), 1);
  return swept(q, rows).o;
}

}  // namespace

TEST_CASE("every code of every narrow format comes out as its value, on every instruction set") {
  std::size_t checked = 0;
  std::size_t specials = 0;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const OnTarget on(target);
    for (const Format format :
         {Format::fp16, Format::bf16, Format::fp8_e4m3, Format::fp8_e5m2, Format::int8}) {
      CAPTURE(name_of(format), target);
      std::vector<float> expected;
      const std::vector<float> o = values_of_all_codes(format, expected);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < o.size(); ++i) {
        const bool same = std::isnan(expected[i]) ? std::isnan(o[i]) : o[i] == expected[i];
        wrong += same ? 0 : 1;
        specials += std::isfinite(expected[i]) ? 0 : 1;
        ++checked;
      }
      CHECK(wrong == 0);
    }
  }
  const std::size_t targets = hwy::SupportedAndGeneratedTargets().size();
  CHECK(checked == targets * (2 * 65'536 + 3 * 256));
  CHECK(specials == targets * (2 * 1024 + 2 * 128 + 2 + 8));
}

namespace {

// A NaN at one place of K or V, as each format keeps it.
void check_nan(Format format, const Shape& shape, bool in_k, std::size_t t, std::size_t column) {
  const std::size_t size = shape.kv_heads * shape.positions * shape.head_dim;
  std::vector<float> k = draw_floats(size, 207, 101);
  std::vector<float> v = draw_floats(size, 207, 102);
  // In the second KV head, of two query heads each.
  const std::size_t row = shape.positions + t;
  (in_k ? k : v)[row * shape.head_dim + column] = nan_f;
  const Cache cache = make_cache(shape, k, v, format);
  const std::vector<float> q = draw_queries(shape, 1, 207);
  for (const States<float>& states : {swept(q, cache.rows()), three_steps(q, cache.rows())}) {
    for (std::size_t i = 0; i < states.o.size(); ++i) {
      const bool reached = in_k || has_scales(format) || i % shape.head_dim == column;
      const bool expected = i / shape.head_dim >= 2 && reached;
      REQUIRE(std::isnan(states.o[i]) == expected);
    }
    CHECK(std::isnan(states.lse[0]) == false);
    CHECK(std::isnan(states.lse[2]) == in_k);
  }
}

}  // namespace

TEST_CASE("a NaN in a cache is never hidden") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    for (const std::size_t head_dim : {33U, 128U}) {
      for (const std::size_t t : {0U, 63U, 64U, 99U}) {
        for (const bool in_k : {true, false}) {
          CAPTURE(name, head_dim, t, in_k);
          check_nan(format, {4, 2, head_dim, 100}, in_k, t, head_dim - 1);
          check_nan(format, {4, 2, head_dim, 100}, in_k, t, 1);
          checked += 2;
        }
      }
    }
  }
  CHECK(checked == 6 * 2 * 4 * 2 * 2);
}

TEST_CASE("a NaN whose weight is zero is not hidden either") {
  // The scores are 200 and -200.
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    CAPTURE(name);
    const Cache cache = make_cache({1, 1, 1, 2}, {1, -1}, {3, nan_f}, format);
    CHECK(std::isnan(swept(std::vector<float>{200}, cache.rows()).o[0]));
    CHECK(std::isnan(three_steps(std::vector<float>{200}, cache.rows()).o[0]));
    ++checked;
  }
  CHECK(checked == 6);
}

TEST_CASE("scores and weighted values against sums written out") {
  std::size_t checked = 0;
  for (const auto& [format, name] : enum_names<Format>) {
    for (const std::size_t positions : {1U, 66U, 4097U}) {
      CAPTURE(name, positions);
      const Shape shape{6, 2, 20, positions};
      const Cache cache = draw_cache(shape, 208, format);
      const std::vector<float> q = draw_queries(shape, 2, 208);
      const std::size_t vectors = 2 * shape.heads;
      std::vector<float> scores(vectors * positions, NAN);
      attention_scores(q, cache.rows(), scores, {.queries = 2});
      const std::vector<float> weights = draw_floats(scores.size(), 208, 104);
      std::vector<float> o(q.size(), NAN);
      weighted_values(weights, cache.rows(), o, {.queries = 2});

      std::vector<double> true_scores;
      std::vector<double> true_o(o.size(), 0);
      for (std::size_t g = 0; g < vectors; ++g) {
        const std::size_t head = g % shape.heads / 3;
        for (std::size_t t = 0; t < positions; ++t) {
          double product = 0;
          for (std::size_t c = 0; c < 20; ++c) {
            const std::size_t at = (head * positions + t) * 20 + c;
            product += double{q[g * 20 + c]} * double{cache.k[at]};
            true_o[g * 20 + c] += double{weights[g * positions + t]} * double{cache.v[at]};
          }
          true_scores.push_back(product / std::sqrt(20.0));
        }
      }
      CHECK(max_difference(scores, true_scores) <= score_tolerance);
      CHECK(max_difference(o, true_o) <= sum_tolerance);
      ++checked;
    }
  }
  CHECK(checked == 6 * 3);
}

TEST_CASE("scores of minus infinity weigh nothing, and alone they are an empty state") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> k(200, -infinity);
  std::vector<float> v(200, 5);
  const std::vector<float> q{1};
  const States<float> none = swept(q, make_cache({1, 1, 1, 200}, k, v).rows());
  CHECK(none.lse[0] == -infinity);
  CHECK(none.o[0] == 0);
  k[130] = 2;
  v[130] = 7;
  const States<float> one = swept(q, make_cache({1, 1, 1, 200}, k, v).rows());
  CHECK(one.lse[0] == 2);
  CHECK(one.o[0] == 7);
}

TEST_CASE("every instruction set of the machine stays within the bounds, each in its own way") {
  const Shape shape{6, 2, 96, 300};
  const std::vector<float> q = draw_queries(shape, 1, 209);
  for (const auto& [format, name] : enum_names<Format>) {
    CAPTURE(name);
    const Cache cache = draw_cache(shape, 209, format);
    const States<double> truth = swept_reference(to_doubles(q), cache.rows());
    std::set<std::vector<float>> different;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      CAPTURE(target);
      const OnTarget on(target);
      const States<float> states = swept(q, cache.rows());
      check_close(states, truth);
      check_close(three_steps(q, cache.rows()), truth);
      different.insert(states.o);
    }
    // Wider vectors add in another order: as many results as sets, or some were never chosen.
    CHECK(different.size() == hwy::SupportedAndGeneratedTargets().size());
  }
}
