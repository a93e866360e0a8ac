// The two phases of a calibrated sweep on drawn caches: a row in pieces against the one-row softmax
// of the kernels, what the choice of calibration costs, and where fp32 may step aside of fp64.
#include "decode/calibrated_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "decode/partials.hpp"
#include "kernels/softmax/softmax_unit.hpp"
#include "tests/decode/calibrated_machine.hpp"
#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

constexpr std::size_t d = 16;
constexpr std::size_t kv_heads = 2;
constexpr std::size_t heads = 4;
constexpr double rounding = 1e-5;  // fp32, scores up to some tens

/// Rows of every KV head, head by head; the last position is the current token's.
struct Drawn {
  std::size_t positions;  // cached
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;

  Drawn(std::size_t cached, std::uint64_t seed, double deviation)
      : positions(cached),
        q(test::draw_floats(heads * d, seed, 1, deviation)),
        k(test::draw_floats(kv_heads * (cached + 1) * d, seed, 2)),
        v(test::draw_floats(kv_heads * (cached + 1) * d, seed, 3)) {}

  [[nodiscard]] KvRows rows(std::size_t first, std::size_t count) const {
    KvRows rows;
    rows.k = std::as_bytes(std::span(k)).data() + first * d * sizeof(float);
    rows.v = std::as_bytes(std::span(v)).data() + first * d * sizeof(float);
    rows.kv_heads = kv_heads;
    rows.head_dim = d;
    rows.head_rows = positions + 1;
    rows.positions = count;
    return rows;
  }
  [[nodiscard]] std::vector<float> current(const std::vector<float>& all) const {
    std::vector<float> rows;
    for (std::size_t head = 0; head < kv_heads; ++head) {
      const auto row = std::span(all).subspan((head * (positions + 1) + positions) * d, d);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  }
  /// Scales the current key so that it scores `margin` above the best of each KV head's first query
  /// head's history.
  void raise_current(double margin) {
    for (std::size_t kv = 0; kv < kv_heads; ++kv) {
      const std::size_t head = kv * heads / kv_heads;
      const std::vector<float> output = score_rows(q, rows(0, positions), positions);
      double norm = 0;
      for (std::size_t i = 0; i < d; ++i) {
        norm += std::pow(q[head * d + i], 2);
      }
      const double wanted = (output[head] + margin) * std::sqrt(double{d}) / norm;
      for (std::size_t i = 0; i < d; ++i) {
        k[(kv * (positions + 1) + positions) * d + i] =
            static_cast<float>(wanted * q[head * d + i]);
      }
    }
  }
};

/// o of every head from the cached rows in pieces and the current token, as devices compute it.
std::vector<float> in_pieces(const Drawn& drawn, const SoftmaxChoice& choice,
                             const std::vector<std::size_t>& sizes) {
  std::vector<std::vector<float>> scores;
  std::size_t first = 0;
  Anchors anchors(heads);
  for (const std::size_t size : sizes) {
    scores.push_back(score_rows(drawn.q, drawn.rows(first, size), size));
    widen(anchors, std::span<const float>(scores.back()).first(2 * heads));
    first += size;
  }
  REQUIRE(first == drawn.positions);
  std::optional<std::vector<float>> current;
  if (choice.calibration == Calibration::row) {
    current = score_key(drawn.q, drawn.current(drawn.k), d);
  }
  std::vector<Partial> partials;
  std::vector<float> weight;
  first = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto own = std::span<const float>(scores[i]).subspan(2 * heads);
    const std::vector<float> state =
        weigh_rows(choice.unit, anchors, own, drawn.rows(first, sizes[i]), current);
    const auto at = [&](std::size_t begin, std::size_t count) {
      return std::vector<float>(state.begin() + static_cast<std::ptrdiff_t>(begin),
                                state.begin() + static_cast<std::ptrdiff_t>(begin + count));
    };
    partials.push_back({at(0, heads * d), at(heads * d, heads)});
    weight = current ? at(heads * d + heads, heads) : weight;
    first += sizes[i];
  }
  Partial whole = merge_shards(partials, MergeOrder::fixed);
  const std::vector<float> v = drawn.current(drawn.v);
  if (!current) {
    fold(drawn.q, drawn.current(drawn.k), v, d, whole.o, whole.lse);
    return whole.o;
  }
  for (std::size_t head = 0; head < heads; ++head) {
    merge(std::span(whole.o).subspan(head * d, d), whole.lse[head],
          std::span(v).subspan(head * kv_heads / heads * d, d), weight[head]);
  }
  return whole.o;
}

/// The same from the whole row's scores at once: `row` by softmax_row; `history` by the weights of
/// the history and e^{s-M} for the current token. Scores as fp32 has them, all else fp64.
std::vector<double> in_one_row(const Drawn& drawn, const SoftmaxChoice& choice) {
  const std::size_t n = drawn.positions;
  const std::vector<float> all = score_rows(drawn.q, drawn.rows(0, n + 1), n + 1);
  std::vector<double> o(heads * d);
  for (std::size_t head = 0; head < heads; ++head) {
    const auto scores = std::span<const float>(all).subspan(2 * heads + head * (n + 1), n + 1);
    std::vector<float> p(n + 1);
    if (choice.calibration == Calibration::row) {
      softmax_row(choice.unit, scores, std::span(p));
    } else {
      const Extrema<float> extrema = extrema_of(scores.first(n));
      weights<float>(choice.unit, extrema, scores.first(n), std::span(p).first(n));
      p.back() = std::exp(scores.back() - extrema.max);
      const double sum = weight_sum<float>(p);
      std::ranges::for_each(p, [sum](float& x) { x = static_cast<float>(double{x} / sum); });
    }
    const std::size_t slab = head * kv_heads / heads * (n + 1) * d;
    for (std::size_t t = 0; t <= n; ++t) {
      for (std::size_t i = 0; i < d; ++i) {
        o[head * d + i] += double{p[t]} * double{drawn.v[slab + t * d + i]};
      }
    }
  }
  return o;
}

double cost_of_history(const Drawn& drawn, const SoftmaxUnit& unit) {
  return test::relative_distance(in_one_row(drawn, {unit, Calibration::history}),
                                 in_one_row(drawn, {unit, Calibration::row}));
}

}  // namespace

TEST_CASE("calibrated: a row in pieces of any size equals the one-row softmax of every unit") {
  const std::vector<std::vector<std::size_t>> splits{
      {97}, {96, 1}, {0, 97}, {33, 0, 31, 33}, {1, 1, 95}};
  double worst = 0;
  for (const SoftmaxUnit& unit : test::calibrated_units()) {
    for (const auto& [calibration, name] : enum_names<Calibration>) {
      for (const std::uint64_t seed : {1, 2, 3}) {
        for (const double deviation : {0.3, 1.0, 4.0}) {
          const Drawn drawn(97, seed, deviation);
          const std::vector<double> want = in_one_row(drawn, {unit, calibration});
          for (const std::vector<std::size_t>& sizes : splits) {
            CAPTURE(test::text_of(unit), name, seed, deviation, sizes.size());
            const double distance =
                test::relative_distance(in_pieces(drawn, {unit, calibration}, sizes), want);
            worst = std::max(worst, distance);
            CHECK(distance < rounding);
          }
        }
      }
    }
  }
  CHECK(worst > 0);  // two ways of adding: not one and the same code
}

TEST_CASE("calibrated: anchors of a shard's own would not do") {
  // The first phase's exchange is not for show: without it each shard lies on a grid of its own.
  const Drawn drawn(97, 4, 1);
  const SoftmaxUnit unit{.kind = SoftmaxKind::min_max};
  const std::vector<double> want = in_one_row(drawn, {unit, Calibration::history});
  std::vector<Partial> partials;
  for (const std::size_t first : {std::size_t{0}, std::size_t{48}}) {
    const std::size_t count = first == 0 ? 48 : 49;
    const std::vector<float> scores = score_rows(drawn.q, drawn.rows(first, count), count);
    const std::vector<float> state =
        weigh_rows(unit, Anchors(heads), std::span<const float>(scores).subspan(2 * heads),
                   drawn.rows(first, count), std::nullopt);
    partials.push_back(
        {{state.begin(), state.begin() + heads * d}, {state.begin() + heads * d, state.end()}});
  }
  Partial whole = merge_shards(partials, MergeOrder::fixed);
  fold(drawn.q, drawn.current(drawn.k), drawn.current(drawn.v), d, whole.o, whole.lse);
  CHECK(test::relative_distance(whole.o, want) > 0.01);
}

TEST_CASE("calibrated: no row, one row and rows that have not landed") {
  const SoftmaxUnit unit{.kind = SoftmaxKind::min_max};
  const Drawn drawn(3, 5, 1);
  const std::vector<float> none = score_rows(drawn.q, drawn.rows(0, 0), 0);
  REQUIRE(none.size() == 2 * heads);
  CHECK(none.front() == masked<float>);
  const std::vector<float> empty =
      weigh_rows(unit, Anchors(heads), {}, drawn.rows(0, 0), std::nullopt);
  CHECK(empty[heads * d] == masked<float>);  // lse
  // One row weighs 1, whatever it scores.
  const std::vector<double> value = in_one_row(drawn, {unit, Calibration::row});
  CHECK(value.size() == heads * d);
  const std::vector<float> one = score_rows(drawn.q, drawn.rows(0, 1), 1);
  const std::vector<float> state =
      weigh_rows(unit, Anchors(heads), std::span<const float>(one).subspan(2 * heads),
                 drawn.rows(0, 1), std::nullopt);
  CHECK(state[0] == drawn.v[0]);
  CHECK(state[heads * d] == one[0]);
  // Two landed of three: the third is masked, so that the check sees it.
  const std::vector<float> early = score_rows(drawn.q, drawn.rows(0, 2), 3);
  CHECK(early[2 * heads + 2] == masked<float>);
  CHECK(early[2 * heads + 1] > masked<float>);
}

TEST_CASE("calibrated: an ordinary current token costs history little, a new maximum much") {
  // 512 rows, K = 4, scores of deviation 4; the new maximum is 3 nats above the old one.
  for (const SoftmaxUnit& unit : test::calibrated_units()) {
    std::vector<double> ordinary;
    std::vector<double> raised;
    for (std::uint64_t seed = 1; seed <= 11; ++seed) {
      Drawn drawn(512, seed, 4);
      ordinary.push_back(cost_of_history(drawn, unit));
      drawn.raise_current(3);
      raised.push_back(cost_of_history(drawn, unit));
    }
    CAPTURE(test::text_of(unit), test::median(ordinary), test::median(raised));
    CHECK(test::median(ordinary) < 3e-4);
    if (unit.kind == SoftmaxKind::min_max) {  // its grid widens with the row: seen 0.67 and 0.57
      CHECK(test::median(raised) > 0.5);
      CHECK(test::median(raised) < 0.8);
    } else {  // a grid that only moves along with the maximum: seen 0.016 and less
      CHECK(test::median(raised) < 0.03);
    }
  }
}

TEST_CASE("calibrated: a little above the old maximum a grid of steps moves all weights") {
  // Scores of deviation 0.5 spread the weight over all rows: fwm `nearest` with a new maximum half
  // a nat higher puts most of them a level lower. Seen 0.49; `lerp`, which has no levels, 0.10;
  // bf16 0.002; fp8 0.03.
  const auto cost = [](const SoftmaxUnit& unit) {
    std::vector<double> costs;
    for (std::uint64_t seed = 1; seed <= 11; ++seed) {
      Drawn drawn(512, seed, 0.5);
      drawn.raise_current(0.5);
      costs.push_back(cost_of_history(drawn, unit));
    }
    return test::median(costs);
  };
  CHECK(cost({.kind = SoftmaxKind::fwm, .reconstruction = Reconstruction::nearest}) > 0.3);
  CHECK(cost({.kind = SoftmaxKind::fwm}) == Approx(0.1).epsilon(0.3));
  CHECK(cost({.kind = SoftmaxKind::bf16_exp}) < 5e-3);
  CHECK(cost({.kind = SoftmaxKind::fp8_exp}) < 0.06);
}

TEST_CASE("calibrated: fp32 weights lie where fp64 allows, and nearly always in one place") {
  for (const SoftmaxUnit& unit : test::calibrated_units()) {
    std::size_t apart = 0;
    std::size_t keys = 0;
    for (const double deviation : {0.5, 3.0, 8.0}) {
      for (const std::uint64_t seed : {1, 2, 3}) {
        const std::vector<float> scores = test::draw_floats(4000, seed, 7, deviation);
        const Extrema<float> extrema = extrema_of<float>(scores);
        std::vector<float> got(scores.size());
        weights<float>(unit, extrema, scores, got);
        const Extrema<double> anchors{extrema.max, extrema.min};
        // `lerp` low in a wide bin is as steep as the bin: rounding of the score itself shows.
        const auto moved = [&](double score, double by) {
          return weight_reference(unit, anchors, std::clamp(score + by, anchors.min, anchors.max));
        };
        for (std::size_t j = 0; j < scores.size(); ++j) {
          const auto [low, high] = weight_range_reference(unit, anchors, scores[j]);
          CAPTURE(test::text_of(unit), deviation, scores[j], got[j], low, high);
          REQUIRE(low <= high);
          const bool lerps = has_grid(unit.kind) && unit.reconstruction == Reconstruction::lerp;
          const double slack = lerps ? 1e-6 * (1 + anchors.max - anchors.min) : 0;
          REQUIRE(got[j] >= std::min(low, moved(scores[j], -slack)) * (1 - rounding) - 1e-45);
          REQUIRE(got[j] <= std::max(high, moved(scores[j], slack)) * (1 + rounding) + 1e-45);
          apart += low < high ? 1 : 0;
          ++keys;
        }
      }
    }
    CAPTURE(test::text_of(unit), apart, keys);
    CHECK(apart * 500 < keys);
  }
}

TEST_CASE("calibrated: on a step itself both weights are allowed, beside it only one") {
  const SoftmaxUnit nearest{.kind = SoftmaxKind::fwm, .reconstruction = Reconstruction::nearest};
  const Extrema<double> anchors{0, -20};
  // h = 1.5: steps at -0.75 - 1.5 i, and the window's end at -6.
  const WeightRange on = weight_range_reference(nearest, anchors, -0.75);
  CHECK(on.low == Approx(std::exp(-1.5)).epsilon(1e-12));
  CHECK(on.high == 1);
  const WeightRange beside = weight_range_reference(nearest, anchors, -0.7501);
  CHECK(beside.low == beside.high);
  const WeightRange end = weight_range_reference({.kind = SoftmaxKind::fwm}, anchors, -6);
  CHECK(end.low == 0);
  CHECK(end.high == Approx(std::exp(-6.0)).epsilon(1e-4));
  const WeightRange eighth =
      weight_range_reference({.kind = SoftmaxKind::fp8_exp}, anchors, std::log(0.90625));
  CHECK(eighth.low == 0.875);
  CHECK(eighth.high == 0.9375);
}

TEST_CASE("calibrated: exponentials of each unit") {
  CHECK(exponentials({.kind = SoftmaxKind::exact}, 100) == 100);
  CHECK(exponentials({.kind = SoftmaxKind::bf16_exp}, 100) == 100);
  CHECK(exponentials({.kind = SoftmaxKind::fp8_exp}, 100) == 100);
  CHECK(exponentials({.kind = SoftmaxKind::min_max, .intervals = 8}, 100) == 9);
  CHECK(exponentials({.kind = SoftmaxKind::min_max}, 0) == 0);
  CHECK(exponentials({.kind = SoftmaxKind::fwm}, 100) == 0);
  CHECK(exponentials({.kind = SoftmaxKind::resolved}, 100) == 200);
  CHECK(exponentials({.kind = SoftmaxKind::resolved, .reconstruction = Reconstruction::nearest},
                     100) == 100);
}

}  // namespace qfs
