// How the error of each unit depends on the row's span and on K: 000 section 3 in numbers.
#include "kernels/softmax/total_variation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

using enum SoftmaxKind;
using enum Reconstruction;

constexpr std::size_t keys = 512;
constexpr std::uint64_t rows = 25;
const std::vector<double> spans{3, 12, 30, 100, 300};
const std::vector<std::size_t> all_intervals{2, 4, 8, 16, 32, 64};

double median_over_rows(const SoftmaxUnit& unit, double span) {
  std::vector<double> distances;
  for (std::uint64_t seed = 0; seed < rows; ++seed) {
    distances.push_back(total_variation(unit, row_of_span(seed, keys, span)));
  }
  return median(distances);
}

std::vector<double> over_spans(const SoftmaxUnit& unit) {
  std::vector<double> medians(spans.size());
  std::ranges::transform(spans, medians.begin(),
                         [&](double span) { return median_over_rows(unit, span); });
  return medians;
}

bool rises(const std::vector<double>& values, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    if (values[i] <= values[i - 1]) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("rows have exactly the span that was asked for") {
  for (const double span : spans) {
    for (const std::size_t count : {2U, 3U, 511U, 512U}) {
      const std::vector<double> row = row_of_span(7, count, span);
      CHECK(row.size() == count);
      CHECK(extrema_of<double>(row) == Extrema<double>{span, 0});
    }
  }
  CHECK(row_of_span(7, 0, 0).empty());
  CHECK(row_of_span(7, 1, 0) == std::vector<double>{0});
  CHECK(row_of_span(7, 3, 0) == std::vector<double>{0, 0, 0});
  CHECK(row_of_span(7, 64, 3) == row_of_span(7, 64, 3));
  CHECK(row_of_span(7, 64, 3) != row_of_span(8, 64, 3));
  // The same draws, stretched.
  const std::vector<double> narrow = row_of_span(7, 64, 3);
  const std::vector<double> wide = row_of_span(7, 64, 300);
  for (std::size_t j = 0; j < narrow.size(); ++j) {
    CHECK(wide[j] == Approx(100 * narrow[j]).epsilon(1e-14));
  }
}

TEST_CASE("total variation by hand") {
  const double low = std::exp(-6.0);
  // K = 1: -1.5 of 6 lies a quarter down, and weighs 3/4 + e^-6 / 4 instead of e^-1.5.
  const std::vector<double> scores{0, -1.5, -6};
  const double middle = 0.75 + 0.25 * low;
  const double sum = 1 + middle + low;
  const double exact_sum = 1 + std::exp(-1.5) + low;
  // The middle key's excess is what the other two lost.
  const double truth = middle / sum - std::exp(-1.5) / exact_sum;
  CHECK(total_variation({min_max, lerp, 1}, scores) == Approx(truth).epsilon(1e-14));
  CHECK(total_variation({exact}, scores) == 0);
  CHECK(total_variation({min_max, nearest}, std::vector<double>{3, 1}) == 0);
  CHECK(total_variation({fwm, nearest}, {}) == 0);
  CHECK(total_variation({fwm, nearest}, std::vector<double>(2, masked<double>)) == 0);
  CHECK(total_variation({min_max, lerp}, std::vector<double>(5, 2)) == 0);
}

TEST_CASE("the distance never exceeds one") {
  for (const SoftmaxKind kind : {exact, min_max, fwm, resolved, bf16_exp, fp8_exp}) {
    for (const double span : spans) {
      const double distance = total_variation({kind, nearest, 2}, row_of_span(1, keys, span));
      CHECK(distance >= 0);
      CHECK(distance <= 1);
    }
  }
}

TEST_CASE("min_max loses resolution as the span grows") {
  for (const Reconstruction reconstruction : {lerp, nearest}) {
    for (const std::size_t intervals : {2U, 4U, 8U}) {
      const std::vector<double> distance = over_spans({min_max, reconstruction, intervals});
      CAPTURE(name_of(reconstruction), intervals, distance);
      CHECK(rises(distance, spans.size()));
      CHECK(distance.back() >= (reconstruction == lerp ? 20 : 4) * distance.front());
    }
    // With many intervals a bin grows narrower than the gap between the two highest keys of a wide
    // row, which then is one-hot under any unit: the loss shows up to a span of 30.
    for (const std::size_t intervals : all_intervals) {
      const std::vector<double> distance = over_spans({min_max, reconstruction, intervals});
      CAPTURE(name_of(reconstruction), intervals, distance);
      CHECK(rises(distance, 3));
    }
  }
}

TEST_CASE("fwm and resolved keep their resolution as the span grows") {
  for (const SoftmaxKind kind : {fwm, resolved}) {
    for (const Reconstruction reconstruction : {lerp, nearest}) {
      for (const std::size_t intervals : all_intervals) {
        const std::vector<double> distance = over_spans({kind, reconstruction, intervals});
        const double narrow = std::max({distance[0], distance[1]});
        CAPTURE(name_of(kind), name_of(reconstruction), intervals, distance);
        CHECK(distance[2] <= 1.1 * narrow);
        CHECK(distance[3] <= distance[2]);
        CHECK(distance[4] <= distance[3]);
        CHECK(distance[4] <= 0.001);
      }
    }
  }
}

TEST_CASE("fwm beats min_max on wide rows and not on narrow ones") {
  for (const Reconstruction reconstruction : {lerp, nearest}) {
    for (const std::size_t intervals : {2U, 4U, 8U}) {
      const std::vector<double> adaptive = over_spans({min_max, reconstruction, intervals});
      const std::vector<double> fixed = over_spans({fwm, reconstruction, intervals});
      CAPTURE(name_of(reconstruction), intervals, adaptive, fixed);
      CHECK(adaptive[0] < fixed[0]);  // h = 3/K against 6/K
      for (std::size_t i = 2; i < spans.size(); ++i) {
        CHECK(adaptive[i] > 3 * fixed[i]);
      }
    }
  }
}

TEST_CASE("twice the intervals quarter the error of lerp and halve that of nearest") {
  for (std::size_t intervals = 8; intervals < 64; intervals *= 2) {
    for (const SoftmaxKind kind : {min_max, resolved}) {
      const auto ratio = [&](Reconstruction reconstruction) {
        return median_over_rows({kind, reconstruction, intervals}, 12) /
               median_over_rows({kind, reconstruction, 2 * intervals}, 12);
      };
      CAPTURE(name_of(kind), intervals, ratio(lerp), ratio(nearest));
      CHECK(ratio(lerp) == Approx(4).epsilon(0.05));
      CHECK(ratio(nearest) == Approx(2).epsilon(0.1));
    }
  }
}

TEST_CASE("the tail that fwm cuts is a floor that no K lowers") {
  const double cut = median_over_rows({fwm, lerp, 64}, 12);
  CHECK(cut == Approx(median_over_rows({fwm, lerp, 32}, 12)).epsilon(1e-2));
  CHECK(cut > 20 * median_over_rows({resolved, lerp, 64}, 12));
  // It is the exact softmax's mass below the window.
  std::vector<double> tails;
  for (std::uint64_t seed = 0; seed < rows; ++seed) {
    const std::vector<double> row = row_of_span(seed, keys, 12);
    std::vector<double> p(keys);
    softmax_row<double>({exact}, row, p);
    double tail = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      tail += row[j] < 6 ? p[j] : 0;
    }
    tails.push_back(tail);
  }
  CHECK(cut == Approx(median(tails)).epsilon(1e-2));
}

TEST_CASE("reduced precision errs by the width of its last bit, whatever the span") {
  for (const double span : spans) {
    CAPTURE(span);
    CHECK(median_over_rows({bf16_exp}, span) <= 4e-3);  // 2^-8
    CHECK(median_over_rows({fp8_exp}, span) <= 6e-2);   // 2^-4
  }
  CHECK(median_over_rows({bf16_exp}, 12) >= 2e-4);
  CHECK(median_over_rows({fp8_exp}, 12) >= 4e-3);
}
