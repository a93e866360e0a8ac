// The OpenACC decode on the host: bit-equal to the plain nest (003 section 4, table 2), right
// against fp64, and what it must move.
#include "kernels/forms/openacc_decode.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

// DESIGN section 8: fp32 against fp64 at unit variance and up to 4096 positions. 003 table 1 has
// 1.8e-7 for one seed.
constexpr double fp32_worst = 2e-6;

const std::vector<std::size_t> lengths{0, 1, 3, 64, 1000, 1024, 4096};

struct Operands {
  std::vector<float> q, k, v;
};

Operands draw_operands(const DecodeShape& shape, std::uint64_t seed) {
  const std::size_t rows = shape.kv_heads * shape.positions;
  return {draw_floats(shape.heads * shape.key_dim, seed, 1),
          draw_floats(rows * shape.key_dim, seed, 2), draw_floats(rows * shape.value_dim, seed, 3)};
}

using Decode = decltype(decode_sequential);

/// Scratch and output start as NaN: nothing of them may be read.
std::vector<float> decoded(Decode& decode, const DecodeShape& shape, const Operands& in) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> weights(shape.positions, nan);
  std::vector<float> out(shape.heads * shape.value_dim, nan);
  decode(shape, in.q, in.k, in.v, weights, out);
  return out;
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> patterns(values.size());
  std::transform(values.begin(), values.end(), patterns.begin(),
                 [](float value) { return std::bit_cast<std::uint32_t>(value); });
  return patterns;
}

std::vector<double> naive(const DecodeShape& shape, const Operands& in) {
  std::vector<double> out(shape.heads * shape.value_dim, 0);
  for (std::size_t g = 0; g < shape.heads; ++g) {
    const std::size_t first = g / (shape.heads / shape.kv_heads) * shape.positions;
    double total = 0;
    for (std::size_t l = 0; l < shape.positions; ++l) {
      double s = 0;
      for (std::size_t c = 0; c < shape.key_dim; ++c) {
        s += double{in.q[g * shape.key_dim + c]} * double{in.k[(first + l) * shape.key_dim + c]};
      }
      const double weight = std::exp(s / std::sqrt(static_cast<double>(shape.key_dim)));
      total += weight;
      for (std::size_t c = 0; c < shape.value_dim; ++c) {
        out[g * shape.value_dim + c] += weight * double{in.v[(first + l) * shape.value_dim + c]};
      }
    }
    for (std::size_t c = 0; c < shape.value_dim && shape.positions > 0; ++c) {
      out[g * shape.value_dim + c] /= total;
    }
  }
  return out;
}

void check(const DecodeShape& shape, std::uint64_t seed) {
  CAPTURE(shape.heads, shape.kv_heads, shape.positions, shape.key_dim, shape.value_dim, seed);
  const Operands in = draw_operands(shape, seed);
  const std::vector<float> plain = decoded(decode_sequential, shape, in);
  CHECK(bits(decoded(decode_openacc, shape, in)) == bits(plain));
  CHECK(max_difference(plain, naive(shape, in)) <= fp32_worst);
}

double megabytes(Bytes bytes) { return static_cast<double>(bytes.value()) / 1e6; }

}  // namespace

TEST_CASE("OpenACC decode on the host equals the sequential one bit for bit") {
  for (const std::size_t n : lengths) {
    for (const std::size_t head_dim : {64U, 80U, 128U}) {
      check({1, 1, n, head_dim, head_dim}, 31);
    }
  }
}

TEST_CASE("OpenACC decode with grouped heads and unlike key and value sizes") {
  for (const std::size_t n : {0U, 1U, 63U, 65U}) {
    for (const std::uint64_t seed : {1U, 2U}) {
      check({4, 2, n, 5, 7}, seed);
      check({6, 1, n, 1, 1}, seed);
      check({3, 3, n, 16, 9}, seed);
    }
  }
}

TEST_CASE("OpenACC decode over no positions gives zeros, by hand over two") {
  const std::vector<float> none =
      decoded(decode_openacc, {2, 1, 0, 3, 2}, {{1, 2, 3, 4, 5, 6}, {}, {}});
  CHECK(none == std::vector<float>(4, 0.0F));
  // key_dim 1: scores 2 * (0, ln(3) / 2), so the weights are 1/4 and 3/4.
  const Operands in{{2}, {0, static_cast<float>(std::log(3.0) / 2)}, {8, -4}};
  for (Decode* decode : {decode_sequential, decode_openacc}) {
    CHECK(decoded(*decode, {1, 1, 2, 1, 1}, in)[0] == Approx(-1).margin(1e-6));
  }
}

TEST_CASE("OpenACC decode of scores that overflow an exponential without the largest taken off") {
  // Scores of -300 and 300 at every other row: only the latter weigh.
  const DecodeShape shape{1, 1, 64, 4, 1};
  Operands in{{600, 0, 0, 0}, std::vector<float>(256, 0), std::vector<float>(64)};
  for (std::size_t l = 0; l < 64; ++l) {
    in.k[l * 4] = l % 2 == 0 ? -1.0F : 1.0F;
    in.v[l] = l % 2 == 0 ? 1e30F : 3.0F;
  }
  for (Decode* decode : {decode_sequential, decode_openacc}) {
    CHECK(decoded(*decode, shape, in)[0] == 3);
  }
}

TEST_CASE("Traffic of a decode step, 003 tables 2 and 6") {
  CHECK(decode_traffic({1, 1, 1024, 64, 64}).value() == 524800);
  CHECK(megabytes(decode_traffic({1, 1, 1024, 64, 64})) == Approx(0.52).margin(0.005));
  CHECK(megabytes(decode_traffic({1, 1, 4096, 64, 64})) == Approx(2.10).margin(0.005));
  CHECK(megabytes(score_matrix_bytes(1024)) == Approx(4.19).margin(0.005));
  CHECK(megabytes(score_matrix_bytes(4096)) == Approx(67.11).margin(0.005));
  // 32 query heads over 32, 8, 4 and 1 KV heads.
  CHECK(megabytes(decode_traffic({32, 32, 1024, 64, 64})) == Approx(16.79).margin(0.005));
  CHECK(megabytes(decode_traffic({32, 8, 1024, 64, 64})) == Approx(4.21).margin(0.005));
  CHECK(megabytes(decode_traffic({32, 4, 1024, 64, 64})) == Approx(2.11).margin(0.005));
  CHECK(megabytes(decode_traffic({32, 1, 1024, 64, 64})) == Approx(0.54).margin(0.005));
  // Unlike sizes, counted by hand: 2 queries of 3, 1 x 5 rows of 3 + 7, 2 outputs of 7.
  CHECK(decode_traffic({2, 1, 5, 3, 7}).value() == 4 * (6 + 50 + 14));
}
