#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "kernels/format.hpp"
#include "kernels/softmax/softmax_unit.hpp"
#include "kernels/softmax/total_variation.hpp"
#include "sim/verify/draws.hpp"
#include "sim/verify/verify.hpp"

namespace qfs::verify {
namespace {

using enum SoftmaxKind;
using enum Reconstruction;

constexpr std::size_t keys = 512;
constexpr std::uint64_t rows = 101;
constexpr std::array spans{3.0, 12.0, 30.0, 100.0, 300.0};
constexpr std::array<std::size_t, 6> all_intervals{2, 4, 8, 16, 32, 64};
constexpr std::array reconstructions{lerp, nearest};

// What the sources state.

// 000 section 3 in words: min_max's interval is (M-m)/K, so that the row's minimum sets the
// resolution near its maximum; fwm's is tau/K whatever the row. In numbers: of min_max's series
// over K and reconstruction, all rise from 3 to 12 to 30 nats, and none by less than this much.
constexpr double least_loss = 3;
// fwm's widest rows are no worse than its narrow ones, by more than the spread of our medians.
constexpr double most_loss = 1.1;
constexpr double bf16_step = 1.0 / 256;  // of the last bit, relative
constexpr double e4m3_step = 1.0 / 16;
// 000 D.5, and DESIGN section 8.
constexpr double e4m3_values = 56;
constexpr double e4m3_normal_values = 49;
// K + 1 grid points.
constexpr double fwm_levels = 5;
// 000 appendix B: a two-key row under min_max nearest is the two-element softmax.
constexpr double two_key_bound = 1e-16;

// Resolution over the span.

using Scores = std::vector<std::vector<double>>;

Scores draw_rows(double span) {
  Scores drawn;
  for (std::uint64_t seed = 1; seed <= rows; ++seed) {
    drawn.push_back(row_of_span(seed, keys, span));
  }
  return drawn;
}

TotalVariation measured(const SoftmaxUnit& unit, double span, const Scores& drawn) {
  std::vector<double> distances;
  for (const std::vector<double>& scores : drawn) {
    distances.push_back(total_variation(unit, scores));
  }
  const auto [least, most] = std::ranges::minmax(distances);
  return {unit, span, keys, rows, least, median(distances), most};
}

/// The medians of one unit over the spans.
using Series = std::array<double, spans.size()>;

std::vector<Series> series_of(SoftmaxKind kind, const std::vector<TotalVariation>& distances) {
  std::vector<Series> all;
  for (std::size_t i = 0; i + spans.size() <= distances.size(); i += spans.size()) {
    if (distances[i].unit.kind != kind) {
      continue;
    }
    Series series{};
    for (std::size_t s = 0; s < spans.size(); ++s) {
      assert(distances[i + s].unit == distances[i].unit && distances[i + s].span == spans[s]);
      series[s] = distances[i + s].median;
    }
    all.push_back(series);
  }
  return all;
}

double rising(const std::vector<Series>& all) {
  return static_cast<double>(
      std::ranges::count_if(all, [](const Series& s) { return s[0] < s[1] && s[1] < s[2]; }));
}

/// The least growth from the first span to the third.
double least_growth(const std::vector<Series>& all) {
  double least = INFINITY;
  for (const Series& series : all) {
    least = std::min(least, series[2] / series[0]);
  }
  return least;
}

/// The most by which a wide row (30 nats and more) exceeds the worse of the two narrow ones.
double most_growth(const std::vector<Series>& all) {
  std::vector<double> growths;
  for (const Series& series : all) {
    const double wide = *std::max_element(series.begin() + 2, series.end());
    growths.push_back(wide / std::max(series[0], series[1]));
  }
  return greatest(growths);
}

/// What an interval h allows, whatever the row: if every weight over its exponential lies in [a,
/// b], total variation is at most tanh(ln(b/a) / 4). For nearest b/a = e^h; for lerp a = 1 and b is
/// the chord over the exponential where that is greatest, at t = 1/h - 1/(e^h - 1).
double interval_bound(const SoftmaxUnit& unit, double span) {
  const double width = unit.kind == min_max ? span : unit.tau;
  const double h = width / static_cast<double>(unit.intervals);
  if (unit.reconstruction == nearest) {
    return std::tanh(h / 4);
  }
  const double rise = std::expm1(h);
  return std::tanh((std::log(rise / h) - (1 - h / rise)) / 4);
}

/// The worst row of any span and K over its bound.
double share_of_bound(SoftmaxKind kind, const std::vector<TotalVariation>& distances) {
  std::vector<double> shares;
  for (const TotalVariation& point : distances) {
    if (point.unit.kind == kind) {
      shares.push_back(point.greatest / interval_bound(point.unit, point.span));
    }
  }
  return greatest(shares);
}

double worst(const std::vector<Series>& all) {
  std::vector<double> values;
  for (const Series& series : all) {
    values.insert(values.end(), series.begin(), series.end());
  }
  return greatest(values);
}

Table resolution(const std::vector<TotalVariation>& distances) {
  const std::vector<Series> min_max_series = series_of(min_max, distances);
  const auto growth = [&](SoftmaxKind kind) {
    return at_most(most_loss, most_growth(series_of(kind, distances)), 3);
  };
  constexpr auto series = static_cast<double>(all_intervals.size() * reconstructions.size());
  return {
      "resolution over the span",
      {{"value", "stated", "ours", ""}},
      {{"min_max: series that rise over 3, 12, 30 nats", {equal(series, rising(min_max_series))}},
       {"min_max: least growth from 3 to 30 nats",
        {at_least(least_loss, least_growth(min_max_series), 2)}},
       {"fwm: most growth beyond 12 nats", {growth(fwm)}},
       {"resolved: most growth beyond 12 nats", {growth(resolved)}},
       {"min_max: worst row over what h = span/K allows",
        {at_most(1, share_of_bound(min_max, distances), 3)}},
       {"resolved: worst row over what h = 6/K allows",
        {at_most(1, share_of_bound(resolved, distances), 3)}},
       {"bf16_exp: worst median, within 2^-8",
        {at_most(bf16_step, worst(series_of(bf16_exp, distances)))}},
       {"fp8_exp: worst median, within 2^-4",
        {at_most(e4m3_step, worst(series_of(fp8_exp, distances)))}}}};
}

// Levels.

std::vector<double> weights_of(const SoftmaxUnit& unit, std::span<const double> scores) {
  std::vector<double> w(scores.size());
  weights(unit, extrema_of<double>(scores), scores, w);
  return w;
}

std::set<double> nonzero(const std::vector<double>& values) {
  std::set<double> levels(values.begin(), values.end());
  levels.erase(0);
  return levels;
}

/// Of the format: all codes in (0, 1].
std::set<double> e4m3_levels() {
  constexpr int codes = 256;
  std::set<double> values;
  for (int code = 0; code < codes; ++code) {
    const double value = to_float(E4m3{static_cast<std::uint8_t>(code)});
    if (value > 0 && value <= 1) {
      values.insert(value);
    }
  }
  return values;
}

/// Those that the unit gives to scores down to 8 below the maximum.
std::set<double> fp8_exp_levels() {
  std::vector<double> scores;
  for (int i = 0; i <= 8000; ++i) {
    scores.push_back(-1e-3 * i);
  }
  return nonzero(weights_of({.kind = fp8_exp}, scores));
}

double normal_values(const std::set<double>& values) {
  constexpr double least_normal = 1.0 / 64;
  return static_cast<double>(std::distance(values.lower_bound(least_normal), values.end()));
}

double most_levels(const SoftmaxUnit& unit) {
  std::size_t most = 0;
  for (const double deviation : {0.5, 3.0, 30.0}) {
    const std::vector<float> drawn = draw(4000, 1, 2, deviation);
    most = std::max(
        most, nonzero(weights_of(unit, std::vector<double>(drawn.begin(), drawn.end()))).size());
  }
  return static_cast<double>(most);
}

double two_key_difference() {
  std::vector<double> differences;
  for (const std::size_t intervals : {1U, 3U, 4U, 64U}) {
    for (const double gap : {1e-6, 0.3, 5.0, 90.0}) {
      const std::array<double, 2> scores{0.2, 0.2 - gap};
      differences.push_back(total_variation({min_max, nearest, intervals}, scores));
    }
  }
  return greatest(differences);
}

Table levels() {
  const std::set<double> format = e4m3_levels();
  const std::set<double> unit = fp8_exp_levels();
  return {
      "levels and identities",
      {{"value", "stated", "ours", "counted"}},
      {{"E4M3: nonzero values in (0, 1]; those fp8_exp gives",
        {equal(e4m3_values, static_cast<double>(format.size()), static_cast<double>(unit.size()))}},
       {"of them normal", {equal(e4m3_normal_values, normal_values(format), normal_values(unit))}},
       {"fwm nearest, K = 4: nonzero levels of 4,000 keys",
        {at_most(fwm_levels, most_levels({fwm, nearest, 4}), 0)}},
       {"two keys, min_max nearest: off the softmax by",
        {at_most(two_key_bound, two_key_difference())}}}};
}

}  // namespace

std::vector<TotalVariation> total_variations() {
  std::vector<SoftmaxUnit> units;
  for (const SoftmaxKind kind : {min_max, fwm, resolved}) {
    for (const Reconstruction reconstruction : reconstructions) {
      for (const std::size_t intervals : all_intervals) {
        units.push_back({kind, reconstruction, intervals});
      }
    }
  }
  units.push_back({.kind = bf16_exp});
  units.push_back({.kind = fp8_exp});
  std::array<Scores, spans.size()> drawn;
  std::ranges::transform(spans, drawn.begin(), draw_rows);
  std::vector<TotalVariation> distances;
  for (const SoftmaxUnit& unit : units) {
    for (std::size_t s = 0; s < spans.size(); ++s) {
      distances.push_back(measured(unit, spans[s], drawn[s]));
    }
  }
  return distances;
}

Section softmax_units_section(const std::vector<TotalVariation>& distances) {
  return {
      "softmax_units",
      fmt::format("Softmax units: 000. Total variation from softmax by span in nats; median of {} "
                  "rows of {} keys",
                  rows, keys),
      {resolution(distances), levels()},
      "min_max loses resolution as the span grows. resolved does not; nor does fwm within its "
      "window, "
      "but what it cuts off below costs it the same for every K."};
}

}  // namespace qfs::verify
