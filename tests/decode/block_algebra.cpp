// 001 section 6 as algebra: which block orders are the same stack drawn with other boundaries, and
// in which of them the two branches meet.
#include "decode/block_algebra.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using qfs::test::max_difference;
using qfs::test::median;
using qfs::test::relative_distance;

namespace {

using block::Layer;
using block::Stream;
using block::Vector;

const std::vector<block::Shape> shapes{
    {16, 2, 2, 8, 24}, {24, 4, 2, 6, 40}, {33, 6, 1, 5, 17}, {1, 1, 1, 1, 1}};
const std::vector<std::uint64_t> seeds{1, 2, 3};

// Orders that differ do so by 0.025 or more here; fp32 rounding is about 1e-6 after five layers.
constexpr double distinct = 1e-3;
constexpr double fp64_tolerance = 1e-13;
// Per unit of the largest output (up to 8.4 here): 2.1e-16 is seen, 8.9e-16 absolute.
constexpr double parallel_bound = 1e-15;
// 4e-3 is the least seen.
constexpr double meeting_floor = 1e-4;
constexpr double slope_band = 0.1;

template <class T>
std::vector<Layer<T>> network(const block::Shape& shape, std::size_t layers, std::size_t positions,
                              std::uint64_t seed) {
  std::vector<Layer<T>> drawn;
  for (std::size_t i = 0; i < layers; ++i) {
    drawn.push_back(block::draw_layer<T>(shape, positions, seed, i));
  }
  return drawn;
}

template <class T>
Vector<T> stacked(block::Block<T> run, Stream<T> stream, const std::vector<Layer<T>>& layers) {
  for (const Layer<T>& layer : layers) {
    stream = run(stream, layer);
  }
  return stream.x;
}

/// Half a block at each end; between them, feed-forward i is fused with attention i + 1.
template <class T>
Vector<T> fused(block::Block<T> run, Stream<T> stream, const std::vector<Layer<T>>& layers) {
  stream = block::half_attention(stream, layers.front());
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
    stream = run(stream, {layers[i + 1].attention, layers[i].ffn});
  }
  return block::half_feed_forward(stream, layers.back()).x;
}

/// Which stream each projection reads, DESIGN section 4: x, y or z (after the first sub-layer), the
/// stream before the previous feed-forward, the network's input.
struct OrderRow {
  std::string name;
  bool ffn_first;
  char q, k, v;  // 'x', 'z', 'b' before the previous feed-forward, 'i' the input
};
const std::vector<OrderRow> order_table{
    {"standard", false, 'x', 'x', 'x'},  {"swapped", true, 'z', 'z', 'z'},
    {"early_q", true, 'x', 'z', 'z'},    {"early_k", true, 'z', 'x', 'z'},
    {"early_qk", true, 'x', 'x', 'z'},   {"parallel", false, 'x', 'x', 'x'},
    {"shifted_q", false, 'b', 'x', 'x'}, {"single_q", false, 'i', 'x', 'x'},
};

Vector<double> plus(Vector<double> base, double scale, const Vector<double>& update) {
  for (std::size_t i = 0; i < base.size(); ++i) {
    base[i] += scale * update[i];
  }
  return base;
}

/// One block by its row of the table.
Vector<double> by_table(const OrderRow& row, const Stream<double>& in, const Layer<double>& layer) {
  const auto m_of = [&](const Vector<double>& x) { return block::feed_forward(layer.ffn, x); };
  const Vector<double> z = plus(in.x, layer.scale_m, m_of(in.x));
  const std::map<char, Vector<double>> streams{
      {'x', in.x}, {'z', z}, {'b', in.before_ffn}, {'i', in.input}};
  const Vector<double> a =
      block::attend(layer.attention, streams.at(row.q), streams.at(row.k), streams.at(row.v));
  if (row.ffn_first) {
    return plus(z, layer.scale_a, a);
  }
  const Vector<double> y = plus(in.x, layer.scale_a, a);
  return plus(y, layer.scale_m, m_of(row.name == "parallel" ? in.x : y));
}

/// A stream within a network: three different vectors.
Stream<double> amid(const block::Shape& shape, std::uint64_t seed) {
  return {block::draw_input<double>(shape, seed, 0), block::draw_input<double>(shape, seed, 1),
          block::draw_input<double>(shape, seed, 2)};
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

block::Block<double> block_named(const std::string& name) {
  const auto blocks = block::all_blocks<double>();
  return std::find_if(blocks.begin(), blocks.end(), [&](const auto& b) { return b.name == name; })
      ->run;
}

/// Median mixed difference over draws, for a cache of each length.
double slope_over_cache(const std::string& name) {
  const block::Shape shape{16, 2, 2, 8, 24};
  std::vector<double> lengths;
  std::vector<double> medians;
  for (std::size_t n = 4; n <= 1024; n *= 2) {
    std::vector<double> draws;
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      const Layer<double> layer = block::draw_layer<double>(shape, n, seed, 0);
      draws.push_back(
          block::mixed_difference(block_named(name), amid(shape, seed), layer, 0.5, 2).difference);
    }
    lengths.push_back(static_cast<double>(n));
    medians.push_back(median(draws));
  }
  return log_slope(lengths, medians);
}

}  // namespace

TEMPLATE_TEST_CASE("A swapped stack between two half blocks is the standard stack bit for bit", "",
                   float, double) {
  for (const block::Shape& shape : shapes) {
    for (const std::size_t layers : {1U, 2U, 5U}) {
      for (const std::size_t positions : {0U, 1U, 33U}) {
        for (const std::uint64_t seed : seeds) {
          CAPTURE(shape.hidden, layers, positions, seed);
          const auto drawn = network<TestType>(shape, layers, positions, seed);
          const auto input = block::enter(block::draw_input<TestType>(shape, seed));
          const auto whole = stacked<TestType>(block::standard, input, drawn);
          CHECK(std::isfinite(whole.front()));
          CHECK(fused<TestType>(block::swapped, input, drawn) == whole);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("An early_q stack between two half blocks is shifted_q bit for bit", "", float,
                   double) {
  for (const block::Shape& shape : shapes) {
    for (const std::size_t layers : {1U, 2U, 5U}) {
      for (const std::size_t positions : {0U, 1U, 33U}) {
        for (const std::uint64_t seed : seeds) {
          CAPTURE(shape.hidden, layers, positions, seed);
          const auto drawn = network<TestType>(shape, layers, positions, seed);
          const auto input = block::enter(block::draw_input<TestType>(shape, seed));
          const auto whole = stacked<TestType>(block::shifted_q, input, drawn);
          CHECK(std::isfinite(whole.front()));
          CHECK(fused<TestType>(block::early_q, input, drawn) == whole);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("Orders that are not conjugate differ at equal weights", "", float, double) {
  const auto apart = [&](const Vector<TestType>& a, const Vector<TestType>& b) {
    CHECK(relative_distance(a, b) > distinct);
  };
  for (const block::Shape& shape : {shapes[0], shapes[1], shapes[2]}) {
    for (const std::size_t layers : {1U, 2U, 5U}) {
      for (const std::uint64_t seed : seeds) {
        CAPTURE(shape.hidden, layers, seed);
        const auto drawn = network<TestType>(shape, layers, 33, seed);
        const auto input = block::enter(block::draw_input<TestType>(shape, seed));
        std::map<std::string, Vector<TestType>> out;
        for (const auto& order : block::all_blocks<TestType>()) {
          out[std::string(order.name)] = stacked(order.run, input, drawn);
        }
        // Layer 0 reads x everywhere in the standard family: alone it is the standard block.
        CHECK((out["standard"] == out["shifted_q"]) == (layers == 1));
        CHECK((out["standard"] == out["single_q"]) == (layers == 1));
        apart(out["standard"], out["swapped"]);
        apart(out["standard"], out["parallel"]);
        apart(out["swapped"], out["early_q"]);
        // The same stack with the wrong partners is another stack.
        if (layers > 1) {
          apart(out["standard"], out["shifted_q"]);
          apart(out["shifted_q"], out["single_q"]);
          apart(fused<TestType>(block::early_q, input, drawn), out["standard"]);
          apart(fused<TestType>(block::swapped, input, drawn), out["shifted_q"]);
        }
      }
    }
  }
}

TEST_CASE("Each block order reads what its row of the table says") {
  REQUIRE(order_table.size() == block::all_blocks<double>().size());
  for (const block::Shape& shape : {shapes[0], shapes[1], shapes[2]}) {
    for (const std::uint64_t seed : seeds) {
      const Stream<double> in = amid(shape, seed);
      Layer<double> layer = block::draw_layer<double>(shape, 7, seed, 0);
      layer.scale_a = 0.75;
      layer.scale_m = -1.5;
      std::vector<Vector<double>> outputs;
      for (const OrderRow& row : order_table) {
        CAPTURE(row.name, shape.hidden, seed);
        const Stream<double> out = block_named(row.name)(in, layer);
        CHECK(out.x == by_table(row, in, layer));
        CHECK(out.input == in.input);
        for (const Vector<double>& other : outputs) {
          CHECK(relative_distance(out.x, other) > distinct);
        }
        outputs.push_back(out.x);
        // What its own feed-forward read: x unless the attention comes first.
        const bool reads_x = row.ffn_first || row.name == "parallel";
        CHECK((out.before_ffn == in.x) == reads_x);
      }
    }
  }
}

TEST_CASE("Two half blocks are a block") {
  const block::Shape& shape = shapes[1];
  const Stream<double> in = amid(shape, 4);
  Layer<double> layer = block::draw_layer<double>(shape, 7, 4, 0);
  layer.scale_a = 0.75;
  layer.scale_m = -1.5;
  const Stream<double> attended = block::half_attention(in, layer);
  CHECK(attended.before_ffn == in.before_ffn);
  const Stream<double> both = block::half_feed_forward(attended, layer);
  const Stream<double> standard = block::standard(in, layer);
  CHECK(both.x == standard.x);
  CHECK(both.before_ffn == standard.before_ffn);
  CHECK(both.input == in.input);
  const Stream<double> turned = block::half_attention(block::half_feed_forward(in, layer), layer);
  const Stream<double> swapped = block::swapped(in, layer);
  CHECK(turned.x == swapped.x);
  CHECK(turned.before_ffn == swapped.before_ffn);
}

TEST_CASE("Attention with the current token folded in is softmax over n + 1 rows") {
  const block::Shape shape{6, 4, 2, 3, 5};
  for (const std::size_t n : {0U, 1U, 2U, 33U}) {
    const Layer<double> layer = block::draw_layer<double>(shape, n, 9, 0);
    const auto& attention = layer.attention;
    const Stream<double> in = amid(shape, 9);
    const auto row_of = [&](const Vector<double>& w, const Vector<double>& x, std::size_t row) {
      double squares = 0;
      double sum = 0;
      for (std::size_t i = 0; i < 6; ++i) {
        squares += x[i] * x[i];
        sum += w[row * 6 + i] * attention.gain[i] * x[i];
      }
      return sum / std::sqrt(squares / 6 + attention.epsilon);
    };
    Vector<double> truth(6, 0);
    for (std::size_t head = 0; head < 4; ++head) {
      const std::size_t kv = head / 2;
      const auto cell = [&](const Vector<double>& cached, const Vector<double>& w,
                            const Vector<double>& from, std::size_t t, std::size_t i) {
        return t < n ? cached[(t * 2 + kv) * 3 + i] : row_of(w, from, kv * 3 + i);
      };
      double total = 0;
      std::array<double, 3> o{};
      for (std::size_t t = 0; t <= n; ++t) {
        double s = 0;
        for (std::size_t i = 0; i < 3; ++i) {
          s += row_of(attention.wq, in.x, head * 3 + i) *
               cell(attention.k_rows, attention.wk, in.before_ffn, t, i);
        }
        const double weight = std::exp(s / std::sqrt(3.0));
        total += weight;
        for (std::size_t i = 0; i < 3; ++i) {
          o[i] += weight * cell(attention.v_rows, attention.wv, in.input, t, i);
        }
      }
      for (std::size_t out = 0; out < 6; ++out) {
        for (std::size_t i = 0; i < 3; ++i) {
          truth[out] += attention.wo[out * 12 + head * 3 + i] * o[i] / total;
        }
      }
    }
    CAPTURE(n);
    CHECK(max_difference(block::attend(attention, in.x, in.before_ffn, in.input), truth) <=
          fp64_tolerance);
  }
}

TEST_CASE("Feed-forward by hand") {
  // hidden 2, ffn 1: the norm of (3, 4) divides by sqrt(12.5); gate = ln 3 gives sigmoid 3/4.
  const double root = std::sqrt(12.5);
  const block::FeedForward<double> ffn{
      0, {1, 2}, {std::log(3.0) * root / 3, 0}, {0, root / 8}, {4, -8}};
  const Vector<double> out = block::feed_forward(ffn, {3, 4});
  CHECK(max_difference(out, Vector<double>{3 * std::log(3.0), -6 * std::log(3.0)}) <=
        fp64_tolerance);
}

TEST_CASE("The mixed second difference vanishes for parallel and for no other order") {
  const auto scales = GENERATE(std::array<double, 2>{0.5, 2}, std::array<double, 2>{1.7, -0.6});
  for (const block::Shape& shape : {shapes[0], shapes[1], shapes[2]}) {
    for (const std::size_t positions : {1U, 2U, 5U, 6U}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Layer<double> layer = block::draw_layer<double>(shape, positions, seed, 0);
        for (const auto& order : block::all_blocks<double>()) {
          CAPTURE(std::string(order.name), shape.hidden, positions, seed);
          const block::MixedDifference mixed =
              block::mixed_difference(order.run, amid(shape, seed), layer, scales[0], scales[1]);
          if (order.name == "parallel") {
            CHECK(mixed.difference <= parallel_bound * std::max(1.0, mixed.magnitude));
          } else {
            CHECK(mixed.difference > meeting_floor);
          }
        }
      }
    }
  }
}

TEST_CASE("The mixed second difference of early_q and early_qk falls as one over the cache") {
  // Only the current token's key and value see the feed-forward, and its weight is about 1 / n.
  for (const std::string name : {"early_q", "early_qk"}) {
    CAPTURE(name);
    const double slope = slope_over_cache(name);
    CHECK(slope >= -1 - slope_band);
    CHECK(slope <= -1 + slope_band);
  }
  // Where the query or the feed-forward sees the other branch, the whole cache answers: the
  // difference falls no faster than the attention's own output over values of mean zero, n^-1/2.
  for (const std::string name : {"standard", "swapped", "early_k", "shifted_q", "single_q"}) {
    CAPTURE(name);
    const double slope = slope_over_cache(name);
    CHECK(slope >= -0.5 - slope_band);
    CHECK(slope <= -0.5 + 2 * slope_band);
  }
}
