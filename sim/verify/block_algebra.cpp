#include "decode/block_algebra.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "decode/work.hpp"
#include "sim/verify/draws.hpp"
#include "sim/verify/verify.hpp"

namespace qfs::verify {
namespace {

using block::Layer;
using block::Shape;
using block::Stream;
using block::Vector;

constexpr std::array<Shape, 3> shapes{{{16, 2, 2, 8, 24}, {24, 4, 2, 6, 40}, {33, 6, 1, 5, 17}}};
constexpr std::uint64_t network_seeds = 3;
constexpr std::uint64_t difference_seeds = 10;
constexpr std::uint64_t slope_seeds = 15;

// 001 section 6: the two stacks "agree to 0 in float32".
constexpr double conjugate = 0;
// Other orders are another network: the least relative distance that would be told from rounding.
constexpr double distinct = 1e-3;
// DESIGN section 4: the mixed difference at n <= 6, the first per unit of the block's outputs.
constexpr double parallel_bound = 1e-15;
constexpr double meeting_floor = 1e-4;
constexpr double early_slope = -1;
constexpr double slope_slack = 0.1;
// DESIGN section 7: the current token's share of a layer's attention at 2^20 positions. 001 prints
// the second.
constexpr std::size_t million = std::size_t{1} << 20U;
constexpr double remainder = 1048576;
constexpr double printed_remainder = 65536;

// Conjugation.

template <class T>
Vector<T> stacked(block::Block<T> run, Stream<T> stream, const std::vector<Layer<T>>& layers) {
  for (const Layer<T>& layer : layers) {
    stream = run(stream, layer);
  }
  return stream.x;
}

/// Half a block at each end; between them feed-forward i is fused with attention i + 1.
template <class T>
Vector<T> fused(block::Block<T> run, Stream<T> stream, const std::vector<Layer<T>>& layers) {
  stream = block::half_attention(stream, layers.front());
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
    stream = run(stream, {layers[i + 1].attention, layers[i].ffn});
  }
  return block::half_feed_forward(stream, layers.back()).x;
}

template <class T>
struct Network {
  std::vector<Layer<T>> layers;
  Stream<T> input;
};

template <class T>
std::vector<Network<T>> networks(const std::vector<std::size_t>& contexts) {
  std::vector<Network<T>> all;
  for (const Shape& shape : shapes) {
    for (const std::size_t depth : {2U, 5U}) {
      for (const std::size_t positions : contexts) {
        for (std::uint64_t seed = 1; seed <= network_seeds; ++seed) {
          Network<T> network{{}, block::enter(block::draw_input<T>(shape, seed))};
          for (std::size_t i = 0; i < depth; ++i) {
            network.layers.push_back(block::draw_layer<T>(shape, positions, seed, i));
          }
          all.push_back(std::move(network));
        }
      }
    }
  }
  return all;
}

/// The largest difference between the fused stack of one order and the plain stack of another.
template <class T>
double conjugation_error(block::Block<T> inner, block::Block<T> outer) {
  std::vector<double> differences;
  for (const Network<T>& network : networks<T>({0, 33})) {
    differences.push_back(max_difference(fused(inner, network.input, network.layers),
                                         stacked(outer, network.input, network.layers)));
  }
  return greatest(differences);
}

/// The least relative distance between two plain stacks. (Without a cache the query chooses among
/// one key, and no order of reading it matters.)
template <class T>
double least_distance(block::Block<T> one, block::Block<T> other) {
  double least = INFINITY;
  for (const Network<T>& network : networks<T>({1, 33})) {
    least = std::min(least, relative_distance(stacked(one, network.input, network.layers),
                                              stacked(other, network.input, network.layers)));
  }
  return least;
}

Table conjugations() {
  const auto row = [](const std::string& name, auto in_fp32, auto in_fp64) {
    return Row{name, {equal(conjugate, in_fp32), equal(conjugate, in_fp64)}};
  };
  return {"stacks, largest difference",
          {{"fp32", "stated", "fp32", ""}, {"fp64", "stated", "fp64", ""}},
          {row("half A, swapped, half M = standard",
               conjugation_error<float>(block::swapped, block::standard),
               conjugation_error<double>(block::swapped, block::standard)),
           row("half A, early_q, half M = shifted_q",
               conjugation_error<float>(block::early_q, block::shifted_q),
               conjugation_error<double>(block::early_q, block::shifted_q)),
           {"standard and shifted_q differ (relative)",
            {at_least(distinct, least_distance<float>(block::standard, block::shifted_q)),
             at_least(distinct, least_distance<double>(block::standard, block::shifted_q))}}}};
}

/// A stream within a network: three different vectors.
Stream<double> amid(const Shape& shape, std::uint64_t seed) {
  return {block::draw_input<double>(shape, seed, 0), block::draw_input<double>(shape, seed, 1),
          block::draw_input<double>(shape, seed, 2)};
}

/// Over short caches, where the current token weighs something.
std::vector<block::MixedDifference> mixed_differences(block::Block<double> run) {
  std::vector<block::MixedDifference> all;
  for (const Shape& shape : shapes) {
    for (const std::size_t positions : {1U, 2U, 5U, 6U}) {
      for (std::uint64_t seed = 1; seed <= difference_seeds; ++seed) {
        const Layer<double> layer = block::draw_layer<double>(shape, positions, seed, 0);
        all.push_back(block::mixed_difference(run, amid(shape, seed), layer, 0.5, 2));
        all.push_back(block::mixed_difference(run, amid(shape, seed), layer, 1.7, -0.6));
      }
    }
  }
  return all;
}

Figure vanishes(const std::vector<block::MixedDifference>& all) {
  std::vector<double> relative;
  std::ranges::transform(
      all, std::back_inserter(relative),
      [](const block::MixedDifference& mixed) { return mixed.difference / mixed.magnitude; });
  return at_most(parallel_bound, greatest(relative));
}

Figure is_there(const std::vector<block::MixedDifference>& all) {
  return at_least(meeting_floor,
                  std::ranges::min(all, {}, &block::MixedDifference::difference).difference);
}

/// Least-squares slope of log y over log x.
double log_slope(const std::vector<double>& x, const std::vector<double>& y) {
  double sx = 0;
  double sy = 0;
  double sxx = 0;
  double sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double lx = std::log(x[i]);
    const double ly = std::log(y[i]);
    sx += lx;
    sy += ly;
    sxx += lx * lx;
    sxy += lx * ly;
  }
  const auto n = static_cast<double>(x.size());
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/// Of the median mixed difference over caches of 4 to 1,024 positions.
double slope_over_cache(block::Block<double> run) {
  std::vector<double> lengths;
  std::vector<double> medians;
  for (std::size_t n = 4; n <= 1024; n *= 2) {
    std::vector<double> draws;
    for (std::uint64_t seed = 1; seed <= slope_seeds; ++seed) {
      const Layer<double> layer = block::draw_layer<double>(shapes[0], n, seed, 0);
      draws.push_back(
          block::mixed_difference(run, amid(shapes[0], seed), layer, 0.5, 2).difference);
    }
    lengths.push_back(static_cast<double>(n));
    medians.push_back(median(draws));
  }
  return log_slope(lengths, medians);
}

Table mixed_table() {
  Table table{"mixed second difference",
              {{"mixed difference", "bound", "ours", ""}, {"power of n", "power", "ours", ""}},
              {}};
  for (const block::NamedBlock<double>& order : block::all_blocks<double>()) {
    const std::vector<block::MixedDifference> all = mixed_differences(order.run);
    Row row{std::string(order.name), {order.name == "parallel" ? vanishes(all) : is_there(all)}};
    if (order.name == "early_q" || order.name == "early_qk") {
      row.figures.push_back(within(early_slope, slope_slack, slope_over_cache(order.run), 2));
    }
    table.rows.push_back(row);
  }
  return table;
}

// What is left after the sweep.

/// Multiply-accumulates of Qwen3-0.6B's sweep; the current token's are those of one position.
double sweep_macs(std::size_t heads, std::size_t positions) {
  CountingRules rules;
  rules.shape = {.name = "qwen3-0.6b",
                 .hidden = 1024,
                 .layers = 28,
                 .heads = heads,
                 .kv_heads = 1,
                 .head_dim = 128,
                 .ffn = 3072};
  Operation sweep;
  sweep.kind = OpKind::sweep;
  sweep.positions = positions;
  const std::array<const Operation*, 1> members{&sweep};
  return static_cast<double>(work_of(rules, members).macs.value());
}

Table remainder_table() {
  constexpr std::size_t heads = 16;
  return {"the sweep over its remainder, n = 2^20",
          {{"value", "stated", "ours", ""}},
          {{"a layer's over a layer's, or a head's over a head's",
            {equal(remainder, sweep_macs(heads, million) / sweep_macs(heads, 1))}},
           {"one head's over 16 heads' (001: \"one 65,536th\")",
            {equal(printed_remainder, sweep_macs(1, million) / sweep_macs(heads, 1))}}}};
}

}  // namespace

Section block_algebra_section() {
  return {"block_algebra",
          "Block orders: 001, section 6",
          {conjugations(), mixed_table(), remainder_table()},
          "What remains after the sweep is one 2^20th of a layer's attention at 2^20 positions; "
          "001's one 65,536th sets 16 heads' remainder against one head's sweep."};
}

}  // namespace qfs::verify
