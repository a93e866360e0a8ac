// What a change of a value or of a score does to the attention's output (001 section 7), and what
// the merge costs beside the sweep (001 section 3), on the plain states of block_algebra.hpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "decode/block_algebra.hpp"
#include "decode/work.hpp"
#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

using namespace qfs;

namespace {

constexpr std::size_t d = 4;
// Central differences with a step of 1e-5: truncation 1e-10, cancellation 1e-11.
constexpr double step = 1e-5;
constexpr double difference_tolerance = 1e-9;
constexpr double rounding = 1e-13;
const std::vector<std::uint64_t> seeds{1, 2, 3};

using Row = std::array<double, d>;

/// One head: all rows but the last are swept, the last one is the current token and folded in. The
/// query is (2, 0, 0, 0), so that a key (s, 0, 0, 0) scores exactly s.
struct Head {
  std::vector<double> scores;
  std::vector<double> values;  // scores.size() x d

  [[nodiscard]] double value(std::size_t row, std::size_t i) const { return values[row * d + i]; }
  [[nodiscard]] Row output() const {
    const std::vector<double> q{2, 0, 0, 0};
    std::vector<double> k(values.size(), 0);
    for (std::size_t j = 0; j < scores.size(); ++j) {
      k[j * d] = scores[j];
    }
    const std::size_t last = scores.size() - 1;
    const block::Rows<double> rows{k.data(), values.data(), last, d, d};
    const auto state = block::fold(block::sweep<double>(q, rows), std::span<const double>(q),
                                   &k[last * d], &values[last * d]);
    Row o{};
    std::copy(state.o.begin(), state.o.end(), o.begin());
    return o;
  }
};

Head draw_head(std::size_t rows, std::uint64_t seed, double deviation) {
  return {test::draw(rows, seed, 1, deviation), test::draw(rows * d, seed, 2)};
}

/// A = softmax(s), written independently of the states.
std::vector<double> weights_of(const Head& head) {
  std::vector<double> weights;
  for (const double s : head.scores) {
    double sum = 0;
    for (const double other : head.scores) {
      sum += std::exp(other - s);
    }
    weights.push_back(1 / sum);
  }
  return weights;
}

/// (output with `moved` raised by a step - output with it lowered) / (2 steps).
Row slope(Head& head, double& moved) {
  const double at = moved;
  moved = at + step;
  const Row up = head.output();
  moved = at - step;
  const Row down = head.output();
  moved = at;
  Row result{};
  for (std::size_t i = 0; i < d; ++i) {
    result[i] = (up[i] - down[i]) / (2 * step);
  }
  return result;
}

/// The largest |A_j (v_j - o)| and the largest |v_j - o|, over rows and values.
struct ScorePath {
  double gain = 0;
  double spread = 0;
};

ScorePath score_path(const Head& head) {
  const std::vector<double> a = weights_of(head);
  const Row o = head.output();
  ScorePath path;
  for (std::size_t j = 0; j < a.size(); ++j) {
    for (std::size_t i = 0; i < d; ++i) {
      const double gap = std::abs(head.value(j, i) - o[i]);
      path.gain = std::max(path.gain, a[j] * gap);
      path.spread = std::max(path.spread, gap);
    }
  }
  return path;
}

/// A number that counts the products and quotients made of it.
struct Counted {
  double value = 0;
  static std::int64_t& products() {
    static std::int64_t count = 0;
    return count;
  }
  Counted() = default;
  explicit Counted(double from) : value(from) {}
  Counted& operator+=(Counted other) { return *this = *this + other; }
  Counted& operator/=(Counted other) { return *this = *this / other; }
  Counted operator-() const { return Counted(-value); }
  friend Counted operator+(Counted a, Counted b) { return Counted(a.value + b.value); }
  friend Counted operator-(Counted a, Counted b) { return Counted(a.value - b.value); }
  friend Counted operator*(Counted a, Counted b) { return made(a.value * b.value); }
  friend Counted operator/(Counted a, Counted b) { return made(a.value / b.value); }
  friend bool operator>(Counted a, Counted b) { return a.value > b.value; }
  friend bool operator==(Counted a, Counted b) { return a.value == b.value; }
  friend Counted exp(Counted a) { return Counted(std::exp(a.value)); }
  friend Counted log(Counted a) { return Counted(std::log(a.value)); }
  friend Counted sqrt(Counted a) { return Counted(std::sqrt(a.value)); }

 private:
  static Counted made(double value) {
    ++products();
    return Counted(value);
  }
};

struct Products {
  std::int64_t sweep = 0;
  std::int64_t fold = 0;
};

Products count_products(std::size_t positions, std::size_t head_dim) {
  const std::vector<Counted> q(head_dim, Counted(1));
  const std::vector<Counted> rows(std::max<std::size_t>(positions, 1) * head_dim, Counted(0.5));
  Counted::products() = 0;
  const auto state =
      block::sweep<Counted>(q, {rows.data(), rows.data(), positions, head_dim, head_dim});
  const std::int64_t swept = Counted::products();
  block::fold(state, std::span<const Counted>(q), rows.data(), rows.data());
  return {swept, Counted::products() - swept};
}

std::int64_t sweep_macs(ModelShape shape, std::size_t heads, std::size_t positions) {
  shape.heads = heads;
  shape.kv_heads = std::min(shape.kv_heads, heads);
  CountingRules rules;
  rules.shape = shape;
  Operation sweep;
  sweep.kind = OpKind::sweep;
  sweep.positions = positions;
  const Operation* member = &sweep;
  return work_of(rules, {&member, 1}).macs.value();
}

}  // namespace

TEST_CASE("The value path has a total gain of exactly one") {
  for (const std::size_t rows : {1U, 2U, 17U, 64U}) {
    for (const std::uint64_t seed : seeds) {
      Head head = draw_head(rows, seed, 2);
      const std::vector<double> a = weights_of(head);
      double total = 0;
      for (std::size_t j = 0; j < rows; ++j) {
        CAPTURE(rows, seed, j);
        // d o_i / d v_ji = A_j, and no other component moves.
        const Row moved = slope(head, head.values[j * d + 1]);
        CHECK(std::abs(moved[1] - a[j]) <= difference_tolerance);
        CHECK(moved[0] == 0);
        total += a[j];
      }
      CHECK(std::abs(total - 1) <= rounding);
      // All values moved alike move the output as far.
      Head shifted = head;
      std::for_each(shifted.values.begin(), shifted.values.end(), [](double& v) { v += 0.5; });
      CHECK(test::max_difference(shifted.output(), head.output()) ==
            Approx(0.5).epsilon(0).margin(rounding));
    }
  }
}

TEST_CASE("The query path is A_j times the value's distance from the output, and sums to nothing") {
  for (const std::size_t rows : {1U, 2U, 17U, 64U}) {
    for (const std::uint64_t seed : seeds) {
      Head head = draw_head(rows, seed, 2);
      const std::vector<double> a = weights_of(head);
      const Row o = head.output();
      Row total{};
      for (std::size_t j = 0; j < rows; ++j) {
        CAPTURE(rows, seed, j);
        const Row moved = slope(head, head.scores[j]);
        for (std::size_t i = 0; i < d; ++i) {
          CHECK(std::abs(moved[i] - a[j] * (head.value(j, i) - o[i])) <= difference_tolerance);
          total[i] += a[j] * (head.value(j, i) - o[i]);
        }
      }
      CHECK(test::max_difference(total, Row{}) <= rounding);
    }
  }
}

TEST_CASE("A constant added to every score changes nothing") {
  for (const std::uint64_t seed : seeds) {
    const Head head = draw_head(33, seed, 2);
    for (const double constant : {-700.0, -1.0, 0.25, 30.0, 700.0}) {
      CAPTURE(seed, constant);
      Head moved = head;
      std::for_each(moved.scores.begin(), moved.scores.end(), [&](double& s) { s += constant; });
      // A score near 700 is rounded by 6e-14 and its weight by as much.
      CHECK(test::max_difference(moved.output(), head.output()) <= 1e-12);
      // Added to one score alone it does.
      moved = head;
      moved.scores[5] += constant;
      CHECK(test::max_difference(moved.output(), head.output()) > 1e-4);
    }
  }
}

TEST_CASE("The query path dies out as attention sharpens") {
  for (const std::uint64_t seed : seeds) {
    Head head = draw_head(16, seed, 1);
    std::vector<double> sorted = head.scores;
    std::sort(sorted.rbegin(), sorted.rend());
    const double gap = sorted[0] - sorted[1];
    const Head base = head;
    for (const double sharpness : {8 / gap, 16 / gap, 32 / gap}) {
      CAPTURE(seed, sharpness);
      for (std::size_t j = 0; j < head.scores.size(); ++j) {
        head.scores[j] = sharpness * base.scores[j];
      }
      // All weight but 15 e^-(sharpness gap) is on one key, whose value is then the output.
      const double rest = 15 * std::exp(-sharpness * gap);
      const ScorePath path = score_path(head);
      CHECK(path.gain <= rest * 2 * path.spread);
      CHECK(path.spread > 0.5);
    }
  }
}

TEST_CASE("The query path dies out as attention spreads, by its weight and not by the values") {
  // 001 says that diffuse attention drives v_j - o to zero. It drives A_j to 1 / n; the distance
  // goes to the values' own spread about their mean, and the product falls as 1 / n.
  for (const std::uint64_t seed : seeds) {
    for (const std::size_t rows : {64U, 512U, 4096U}) {
      CAPTURE(seed, rows);
      const ScorePath path = score_path(draw_head(rows, seed, 0));
      CHECK(path.spread > 1);
      CHECK(path.gain == Approx(path.spread / static_cast<double>(rows)).epsilon(1e-12));
    }
    // Equal values leave nothing to choose between, however sharp the attention.
    Head equal = draw_head(64, seed, 3);
    std::fill(equal.values.begin(), equal.values.end(), 1.5);
    CHECK(score_path(equal).gain <= rounding);
  }
}

TEST_CASE("A fold costs one swept row: products counted as they are made") {
  for (const std::size_t head_dim : {1U, 64U, 128U}) {
    const auto width = static_cast<std::int64_t>(head_dim);
    const Products one = count_products(1, head_dim);
    const Products many = count_products(100, head_dim);
    CAPTURE(head_dim);
    // Per row: d for the score, its division, d for the value; d quotients end a sweep.
    CHECK(many.sweep - one.sweep == 99 * (2 * width + 1));
    CHECK(one.fold == 2 * width + 2);  // the sigmoid's quotient besides
    CHECK(many.fold == one.fold);
  }
}

TEST_CASE("At 2^20 positions a merge is 1/2^20 of its sweep, 1/65536 sets 16 merges to 1 sweep") {
  // 001 section 3: "one 65,536th". A merge costs one swept position (the case above).
  const ModelShape shape = test::qwen3_0_6b();  // 001's, 16 query heads
  constexpr std::size_t million = std::size_t{1} << 20U;
  const std::int64_t one_merge = sweep_macs(shape, 1, 1);
  const std::int64_t one_sweep = sweep_macs(shape, 1, million);
  const std::int64_t layer_merges = sweep_macs(shape, shape.heads, 1);
  const std::int64_t layer_sweeps = sweep_macs(shape, shape.heads, million);
  CHECK(one_merge == 2 * 128);
  CHECK(layer_merges == 16 * one_merge);
  CHECK(one_sweep / one_merge == 1048576);
  CHECK(layer_sweeps / layer_merges == 1048576);
  CHECK(one_sweep / layer_merges == 65536);
}
