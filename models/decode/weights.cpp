#include "decode/weights.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "decode/draw.hpp"

namespace qfs {
namespace {

enum class Part : std::uint64_t {
  q,
  k,
  v,
  o,
  gate,
  up,
  down,
  attention_norm,
  ffn_norm,
  q_norm,
  k_norm,
  final_norm,
  embedding,
  lm_head,
};

constexpr double gain_spread = 0.1;  // norm gains differ from 1, so that a forgotten gain shows

/// Draws the parts of one layer; each part is a random stream of its own.
class Drawer {
 public:
  Drawer(Format format, std::uint64_t seed, std::size_t layer)
      : format_(format), seed_(seed), layer_(layer) {}

  /// Deviation 1 / sqrt(columns): unit-variance inputs give unit-variance outputs.
  [[nodiscard]] RowStore matrix(Part part, std::size_t rows, std::size_t columns) const {
    return matrix(part, rows, columns, 1 / std::sqrt(static_cast<double>(columns)));
  }
  [[nodiscard]] RowStore matrix(Part part, std::size_t rows, std::size_t columns,
                                double deviation) const {
    const Random stream = random(part);
    RowStore matrix(format_, rows, columns);
    std::vector<float> row(columns);
    for (std::size_t r = 0; r < rows; ++r) {
      fill_uniform(stream, 0, deviation, r * columns, row);
      matrix.write(r, row);
    }
    return matrix;
  }
  [[nodiscard]] std::vector<Bf16> gains(Part part, std::size_t count) const {
    std::vector<float> drawn(count);
    fill_uniform(random(part), 1, gain_spread, 0, drawn);
    std::vector<Bf16> gains;
    std::transform(drawn.begin(), drawn.end(), std::back_inserter(gains), to_bf16);
    return gains;
  }

 private:
  [[nodiscard]] Random random(Part part) const {
    return {seed_, stream_of(StreamOwner::weights, layer_, static_cast<std::uint64_t>(part))};
  }
  Format format_;
  std::uint64_t seed_;
  std::size_t layer_;
};

LayerWeights draw_layer(const ModelShape& shape, const Drawer& draw) {
  LayerWeights layer;
  layer.q = draw.matrix(Part::q, shape.q_width(), shape.hidden);
  layer.k = draw.matrix(Part::k, shape.kv_width(), shape.hidden);
  layer.v = draw.matrix(Part::v, shape.kv_width(), shape.hidden);
  layer.o = draw.matrix(Part::o, shape.hidden, shape.q_width());
  layer.gate = draw.matrix(Part::gate, shape.ffn, shape.hidden);
  layer.up = draw.matrix(Part::up, shape.ffn, shape.hidden);
  layer.down = draw.matrix(Part::down, shape.hidden, shape.ffn);
  layer.attention_norm = draw.gains(Part::attention_norm, shape.hidden);
  layer.ffn_norm = draw.gains(Part::ffn_norm, shape.hidden);
  if (shape.qk_norm) {
    layer.q_norm = draw.gains(Part::q_norm, shape.head_dim);
    layer.k_norm = draw.gains(Part::k_norm, shape.head_dim);
  }
  return layer;
}

}  // namespace

Weights draw_weights(const ModelShape& shape, Format format, std::uint64_t seed, bool vocabulary) {
  Weights weights;
  for (std::size_t layer = 0; layer < shape.layers; ++layer) {
    weights.layers.push_back(draw_layer(shape, Drawer(format, seed, layer)));
  }
  const Drawer draw(format, seed, shape.layers);
  weights.final_norm = draw.gains(Part::final_norm, shape.hidden);
  if (vocabulary) {
    weights.embedding = draw.matrix(Part::embedding, shape.vocab, shape.hidden, 1);
    if (!shape.tied_embedding) {
      weights.untied_lm_head = draw.matrix(Part::lm_head, shape.vocab, shape.hidden);
    }
  }
  return weights;
}

}  // namespace qfs
