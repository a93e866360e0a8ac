// The sweep against fp64, against attention written out here, and at the edges of its blocks.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention.hpp"
#include "tests/kernels/cache.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Bounds of DESIGN section 8: unit variance, head_dim 64, n to 4096, absolute.
constexpr double fp32_worst = 2e-6;
constexpr double fp32_median = 2e-7;
// bf16 cache, query and result, score deviation 1, n >= 512, relative L2.
constexpr double bf16_worst = 5e-3;
constexpr double bf16_median_low = 3.0e-3;
constexpr double bf16_median_high = 3.6e-3;
constexpr double lse_tolerance = 2e-6;  // of a value near 10
constexpr double fp64_tolerance = 1e-13;

constexpr std::size_t seeds = 15;

// Attention with K and V first expanded to one copy a query head: no grouping, no running maximum.
struct Expanded {
  std::vector<double> k;
  std::vector<double> v;
};

Expanded expand(const Shape& shape, const Cache& cache) {
  Expanded expanded;
  const std::size_t block = shape.positions * shape.head_dim;
  for (std::size_t h = 0; h < shape.kv_heads; ++h) {
    for (std::size_t copy = 0; copy < shape.heads / shape.kv_heads; ++copy) {
      for (std::size_t i = 0; i < block; ++i) {
        expanded.k.push_back(cache.k[h * block + i]);
        expanded.v.push_back(cache.v[h * block + i]);
      }
    }
  }
  return expanded;
}

States<double> naive(const Shape& shape, const Expanded& cache, std::span<const float> q) {
  States<double> states(shape.heads, shape.head_dim);
  const std::size_t d = shape.head_dim;
  for (std::size_t g = 0; g < shape.heads; ++g) {
    std::vector<double> total(d, 0);
    double sum = 0;
    for (std::size_t t = 0; t < shape.positions; ++t) {
      const std::size_t row = (g * shape.positions + t) * d;
      double product = 0;
      for (std::size_t c = 0; c < d; ++c) {
        product += double{q[g * d + c]} * cache.k[row + c];
      }
      const double weight = std::exp(product / std::sqrt(static_cast<double>(d)));
      sum += weight;
      for (std::size_t c = 0; c < d; ++c) {
        total[c] += weight * cache.v[row + c];
      }
    }
    for (std::size_t c = 0; c < d; ++c) {
      states.o[g * d + c] = total[c] / sum;
    }
    states.lse[g] = std::log(sum);
  }
  return states;
}

void check_against_naive(const Shape& shape, std::uint64_t seed) {
  CAPTURE(shape.heads, shape.kv_heads, shape.head_dim, shape.positions);
  const std::vector<float> q = draw_query(shape, seed);
  const Cache cache = draw_cache(shape, seed);
  const States<double> truth = naive(shape, expand(shape, cache), q);
  const States<float> fast = swept(q, cache.rows());
  CHECK(max_difference(fast.o, truth.o) <= fp32_worst);
  CHECK(max_difference(fast.lse, truth.lse) <= lse_tolerance);
  const States<double> reference = swept_reference(to_doubles(q), cache.rows());
  CHECK(max_difference(reference.o, truth.o) <= fp64_tolerance);
  CHECK(max_difference(reference.lse, truth.lse) <= fp64_tolerance);

  const Cache narrow = make_cache(shape, cache.k, cache.v, Format::bf16);
  const States<double> narrow_truth = naive(shape, expand(shape, narrow), q);
  const States<float> narrow_fast = swept(q, narrow.rows());
  CHECK(max_difference(narrow_fast.o, narrow_truth.o) <= fp32_worst);
  CHECK(max_difference(narrow_fast.lse, narrow_truth.lse) <= lse_tolerance);
  const States<double> narrow_reference = swept_reference(to_doubles(q), narrow.rows());
  CHECK(max_difference(narrow_reference.o, narrow_truth.o) <= fp64_tolerance);
}

double fp32_error(std::size_t positions, std::uint64_t seed) {
  const Shape shape{1, 1, 64, positions};
  const std::vector<float> q = draw_query(shape, seed);
  const Cache cache = draw_cache(shape, seed);
  const States<float> fast = swept(q, cache.rows());
  const States<double> truth = swept_reference(to_doubles(q), cache.rows());
  CHECK(max_difference(fast.lse, truth.lse) <= lse_tolerance);
  return max_difference(fast.o, truth.o);
}

// Query, cache and result rounded to bf16, against fp64 on the unrounded values.
double bf16_error(const Shape& shape, std::uint64_t seed) {
  const std::vector<float> q = draw_query(shape, seed);
  const Cache cache = draw_cache(shape, seed);
  const States<double> truth = swept_reference(to_doubles(q), cache.rows());
  const Cache narrow = make_cache(shape, cache.k, cache.v, Format::bf16);
  const States<float> fast = swept(round_bf16(q), narrow.rows());
  return relative_distance(round_bf16(fast.o), truth.o);
}

}  // namespace

TEST_CASE("attention by hand, with its reference") {
  // head_dim 1: scores are 2 * (0, log(3) / 2), so the weights are 1/4 and 3/4.
  const Shape shape{1, 1, 1, 2};
  const Cache cache = make_cache(shape, {0, static_cast<float>(std::log(3.0) / 2)}, {8, -4});
  const States<float> fast = swept(std::vector<float>{2}, cache.rows());
  CHECK(fast.o[0] == Approx(-1).margin(1e-6));
  CHECK(fast.lse[0] == Approx(std::log(4.0)).margin(1e-6));
  const States<double> reference = swept_reference(std::vector<double>{2}, cache.rows());
  CHECK(reference.o[0] == Approx(-1).margin(1e-6));
  CHECK(reference.lse[0] == Approx(std::log(4.0)).margin(1e-6));
}

TEST_CASE("scores are divided by the root of the head dimension") {
  // q.k = 16 over four elements: the score is 8.
  const Shape shape{1, 1, 4, 1};
  const Cache cache = make_cache(shape, {2, 2, 2, 2}, {1, 2, 3, 4});
  const States<float> fast = swept(std::vector<float>(4, 2), cache.rows());
  CHECK(fast.lse[0] == 8);
  CHECK(fast.o == cache.v);
}

TEST_CASE("the fp32 sweep stays within its bounds of fp64") {
  std::size_t checked = 0;
  for (const std::size_t positions : {1U, 2U, 3U, 17U, 63U, 64U, 65U, 512U, 1024U, 4096U}) {
    std::vector<double> errors;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      errors.push_back(fp32_error(positions, seed));
      CAPTURE(positions, seed);
      CHECK(errors.back() <= fp32_worst);
      ++checked;
    }
    CAPTURE(positions);
    CHECK(median(errors) <= fp32_median);
  }
  CHECK(checked == 10 * seeds);
}

TEST_CASE("a bf16 cache and wire cost what they should") {
  std::size_t checked = 0;
  for (const std::size_t positions : {512U, 1000U, 4096U}) {
    std::vector<double> errors;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      errors.push_back(bf16_error({2, 1, 128, positions}, seed));
      CAPTURE(positions, seed);
      CHECK(errors.back() <= bf16_worst);
      ++checked;
    }
    CAPTURE(positions);
    // Too small an error is as suspect as too large a one: nothing was rounded.
    CHECK(median(errors) >= bf16_median_low);
    CHECK(median(errors) <= bf16_median_high);
  }
  CHECK(checked == 3 * seeds);
}

TEST_CASE("groups of heads share a KV head in order") {
  std::size_t checked = 0;
  for (const Shape& shape : std::vector<Shape>{{16, 8, 128, 200},
                                               {32, 8, 128, 130},
                                               {8, 1, 64, 77},
                                               {8, 8, 64, 65},
                                               {3, 1, 32, 100},
                                               {10, 2, 24, 64},
                                               {65, 1, 8, 66},
                                               {131, 1, 8, 3}}) {
    check_against_naive(shape, 61);
    ++checked;
  }
  CHECK(checked == 8);
}

TEST_CASE("every number of positions around the blocks, every width around the lanes") {
  std::size_t checked = 0;
  for (const std::size_t positions : {1U, 2U, 3U, 4U, 5U, 63U, 64U, 65U, 127U, 128U, 129U, 191U}) {
    for (const std::size_t head_dim : {1U, 2U, 7U, 8U, 9U, 31U, 128U}) {
      check_against_naive({2, 1, head_dim, positions}, positions);
      ++checked;
    }
  }
  for (const std::size_t positions : {4095U, 4096U, 4097U}) {
    check_against_naive({2, 2, 16, positions}, positions);
    ++checked;
  }
  CHECK(checked == 12 * 7 + 3);
}

TEST_CASE("a head's result does not depend on the heads beside it, bit for bit") {
  const Shape shape{7, 1, 40, 201};
  const std::vector<float> q = draw_query(shape, 62);
  const Cache cache = draw_cache(shape, 62, Format::bf16);
  const States<float> together = swept(q, cache.rows());
  CHECK(swept(q, cache.rows()) == together);
  std::size_t checked = 0;
  for (std::size_t g = 0; g < shape.heads; ++g) {
    const std::size_t at = g * shape.head_dim;
    const States<float> alone = swept(std::span(q).subspan(at, shape.head_dim), cache.rows());
    const std::span<const float> o = std::span(together.o).subspan(at, shape.head_dim);
    CHECK(alone.o == std::vector<float>(o.begin(), o.end()));
    CHECK(alone.lse[0] == together.lse[g]);
    ++checked;
  }
  CHECK(checked == 7);
}

TEST_CASE("no positions give an empty state") {
  const std::vector<float> q(3 * 8, 1);
  const KvRows none{.kv_heads = 1, .head_dim = 8};
  const States<float> fast = swept(q, none);
  CHECK(fast.o == std::vector<float>(3 * 8, 0));
  CHECK(fast.lse == std::vector<float>(3, static_cast<float>(-infinity)));
  States<double> reference = swept_reference(to_doubles(q), none);
  CHECK(reference.lse == std::vector<double>(3, -infinity));
}

TEST_CASE("scores whose exponentials overflow do no harm") {
  // Whichever block holds the largest score, the first or a later one.
  std::size_t checked = 0;
  for (const std::size_t peak : {0U, 63U, 64U, 150U}) {
    const Shape shape{1, 1, 1, 151};
    std::vector<float> k(shape.positions, -1);
    std::vector<float> v(shape.positions, 3);
    k[peak] = 1;
    v[peak] = 7;
    const Cache cache = make_cache(shape, k, v);
    const States<float> fast = swept(std::vector<float>{200}, cache.rows());
    CHECK(fast.o == std::vector<float>{7});
    CHECK(fast.lse == std::vector<float>{200});
    const States<float> low = swept(std::vector<float>{-200}, cache.rows());
    CHECK(low.o[0] == Approx(3).epsilon(1e-6));
    CHECK(low.lse[0] == Approx(200 + std::log(150.0)).epsilon(1e-6));
    ++checked;
  }
  CHECK(checked == 4);
}

namespace {

void check_spare(const Shape& shape, Format format) {
  const Cache compact = draw_cache(shape, 64, format);
  const Cache spaced = draw_cache(shape, 64, format, 5);
  const std::vector<float> q = draw_query(shape, 63);
  const States<float> expected = swept(q, compact.rows());
  CHECK(std::isfinite(expected.o[0]));
  CHECK(swept(q, spaced.rows()) == expected);
  const States<double> reference = swept_reference(to_doubles(q), compact.rows());
  CHECK(swept_reference(to_doubles(q), spaced.rows()) == reference);
}

}  // namespace

TEST_CASE("rows past the positions are never read") {
  std::size_t checked = 0;
  for (const std::size_t positions : {1U, 3U, 63U, 66U, 128U}) {
    for (const auto& [format, name] : enum_names<Format>) {
      CAPTURE(positions, name);
      check_spare({6, 3, 20, positions}, format);
      ++checked;
    }
  }
  CHECK(checked == 5 * 6);
}
