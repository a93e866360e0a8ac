#include "decode/cache_attention.hpp"

#include <cmath>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr double form_tolerance = 2e-6;  // fp32 sums of a few dozen unit-variance values

KvCache drawn_cache(const ModelShape& shape, Format format, std::size_t positions) {
  KvCache cache(shape, format, positions + 3);
  for (std::size_t t = 0; t < positions; ++t) {
    cache.append(test::draw_floats(shape.kv_width(), 1, 2 * t),
                 test::draw_floats(shape.kv_width(), 1, 2 * t + 1));
  }
  return cache;
}

}  // namespace

TEST_CASE("every form of attention over every format of cache gives the softmax state") {
  const ModelShape shape = test::tiny_shape();
  REQUIRE(shape.group() > 1);
  for (const auto& [form, form_name] : enum_names<AttentionForm>) {
    for (const auto& [format, format_name] : enum_names<Format>) {
      for (const std::size_t positions : {1, 2, 37}) {
        CAPTURE(form_name, format_name, positions);
        const KvCache cache = drawn_cache(shape, format, positions + 1);
        const std::vector<float> q = test::draw_floats(shape.q_width(), 1, 1000);
        std::vector<double> want_o(shape.q_width());
        std::vector<double> want_lse(shape.heads);
        sweep_reference(test::to_doubles(q), cache.rows(positions), want_o, want_lse);
        std::vector<float> o(shape.q_width(), NAN);
        std::vector<float> lse(shape.heads, NAN);
        attend_cache(form, q, cache, positions, o, lse);  // the last row is not there yet
        CHECK(test::max_difference(o, want_o) < form_tolerance);
        CHECK(test::max_difference(lse, want_lse) < form_tolerance);
      }
    }
  }
}

TEST_CASE("no form reads an empty cache") {
  const ModelShape shape = test::tiny_shape();
  const KvCache cache = drawn_cache(shape, Format::bf16, 0);
  for (const auto& [form, name] : enum_names<AttentionForm>) {
    std::vector<float> o(shape.q_width(), NAN);
    std::vector<float> lse(shape.heads, NAN);
    attend_cache(form, std::vector<float>(shape.q_width(), 1.0F), cache, 0, o, lse);
    CAPTURE(name);
    for (const float value : lse) {
      CHECK(value == -INFINITY);
    }
  }
}

TEST_CASE("a grown cache holds the same rows bit for bit and has room for one more") {
  const ModelShape shape = test::tiny_shape();
  for (const auto& [format, name] : enum_names<Format>) {
    CAPTURE(name);
    const KvCache cache = drawn_cache(shape, format, 5);
    KvCache grown = cache.grown();
    CHECK(grown.rows(5).k != cache.rows(5).k);
    std::vector<std::vector<float>> rows(4, std::vector<float>(shape.kv_width()));
    for (std::size_t t = 0; t < 5; ++t) {
      cache.read(t, rows[0], rows[1]);
      grown.read(t, rows[2], rows[3]);
      CHECK(rows[0] == rows[2]);
      CHECK(rows[1] == rows[3]);
    }
    grown.append(rows[0], rows[1]);
    CHECK(grown.positions() == 6);
    CHECK_THROWS(grown.append(rows[0], rows[1]));
  }
}

TEST_CASE("what a conventional form takes of the host grows as its arrays do") {
  const ModelShape shape = test::tiny_shape();
  CHECK(attend_cache_host_bytes(AttentionForm::minimal, shape, 1000) == 0);
  const auto bytes = [&](std::size_t n) {
    return static_cast<double>(attend_cache_host_bytes(AttentionForm::score_matrix, shape, n));
  };
  CHECK(bytes(8192) / bytes(4096) == Approx(4).epsilon(0.05));
}

}  // namespace qfs
