#include "decode/block_algebra.hpp"

#include "base/random.hpp"

namespace qfs::block {
namespace {

template <class T>
Vector<T> rms_norm(const Vector<T>& x, const Vector<T>& gain, T epsilon) {
  assert(!x.empty() && gain.size() == x.size());
  T squares = 0;
  for (const T value : x) {
    squares += value * value;
  }
  const T root = std::sqrt(squares / static_cast<T>(x.size()) + epsilon);
  Vector<T> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = gain[i] * (x[i] / root);
  }
  return y;
}

/// w has x.size() columns.
template <class T>
Vector<T> product(const Vector<T>& w, const Vector<T>& x) {
  assert(!x.empty() && w.size() % x.size() == 0);
  Vector<T> y(w.size() / x.size(), T(0));
  for (std::size_t row = 0; row < y.size(); ++row) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[row] += w[row * x.size() + i] * x[i];
    }
  }
  return y;
}

/// base + scale * update.
template <class T>
Vector<T> sum(Vector<T> base, T scale, const Vector<T>& update) {
  assert(update.size() == base.size());
  for (std::size_t i = 0; i < base.size(); ++i) {
    base[i] += scale * update[i];
  }
  return base;
}

template <class T>
Vector<T> add_attention(const Vector<T>& base, const Layer<T>& layer, const Vector<T>& q_from,
                        const Vector<T>& k_from, const Vector<T>& v_from) {
  return sum(base, layer.scale_a, attend(layer.attention, q_from, k_from, v_from));
}

template <class T>
Vector<T> add_feed_forward(const Vector<T>& base, const Layer<T>& layer, const Vector<T>& x) {
  return sum(base, layer.scale_m, feed_forward(layer.ffn, x));
}

enum class Tensor : std::uint8_t {
  attention_gain,
  q,
  k,
  v,
  o,
  k_rows,
  v_rows,
  ffn_gain,
  gate,
  up,
  down,
  count
};

constexpr double norm_epsilon = 1e-6;
/// Network inputs, clear of every layer's streams.
constexpr std::uint64_t input_stream = std::uint64_t{1} << 32U;

template <class T>
Vector<T> draw(std::size_t size, std::uint64_t seed, std::uint64_t stream, double mean,
               double deviation) {
  const Random random(seed, stream);
  Vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    values[i] = static_cast<T>(mean + deviation * random.normal(i));
  }
  return values;
}

}  // namespace

template <class T>
Vector<T> attend(const Attention<T>& attention, const Vector<T>& q_from, const Vector<T>& k_from,
                 const Vector<T>& v_from) {
  const std::size_t d = attention.head_dim;
  const std::size_t group = attention.heads / attention.kv_heads;
  const auto normed = [&](const Vector<T>& x) {
    return rms_norm(x, attention.gain, attention.epsilon);
  };
  const Vector<T> q = product(attention.wq, normed(q_from));
  const Vector<T> k = product(attention.wk, normed(k_from));
  const Vector<T> v = product(attention.wv, normed(v_from));
  Vector<T> o;
  for (std::size_t head = 0; head < attention.heads; ++head) {
    const std::size_t at = head / group * d;
    Rows<T> rows{nullptr, nullptr, attention.positions, attention.kv_heads * d, d};
    if (rows.positions > 0) {
      rows.k = &attention.k_rows[at];
      rows.v = &attention.v_rows[at];
    }
    const std::span<const T> query = std::span(q).subspan(head * d, d);
    const State<T> state = fold(sweep(query, rows), query, k.data() + at, v.data() + at);
    o.insert(o.end(), state.o.begin(), state.o.end());
  }
  return product(attention.wo, o);
}

template <class T>
Vector<T> feed_forward(const FeedForward<T>& ffn, const Vector<T>& x) {
  const Vector<T> normed = rms_norm(x, ffn.gain, ffn.epsilon);
  Vector<T> gate = product(ffn.gate, normed);
  const Vector<T> up = product(ffn.up, normed);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  }
  return product(ffn.down, gate);
}

template <class T>
Stream<T> standard(const Stream<T>& in, const Layer<T>& layer) {
  const Vector<T> y = add_attention(in.x, layer, in.x, in.x, in.x);
  return {add_feed_forward(y, layer, y), y, in.input};
}

template <class T>
Stream<T> shifted_q(const Stream<T>& in, const Layer<T>& layer) {
  const Vector<T> y = add_attention(in.x, layer, in.before_ffn, in.x, in.x);
  return {add_feed_forward(y, layer, y), y, in.input};
}

template <class T>
Stream<T> single_q(const Stream<T>& in, const Layer<T>& layer) {
  const Vector<T> y = add_attention(in.x, layer, in.input, in.x, in.x);
  return {add_feed_forward(y, layer, y), y, in.input};
}

template <class T>
Stream<T> swapped(const Stream<T>& in, const Layer<T>& layer) {
  const Vector<T> z = add_feed_forward(in.x, layer, in.x);
  return {add_attention(z, layer, z, z, z), in.x, in.input};
}

template <class T>
Stream<T> early_q(const Stream<T>& in, const Layer<T>& layer) {
  const Vector<T> z = add_feed_forward(in.x, layer, in.x);
  return {add_attention(z, layer, in.x, z, z), in.x, in.input};
}

template <class T>
Stream<T> early_k(const Stream<T>& in, const Layer<T>& layer) {
  const Vector<T> z = add_feed_forward(in.x, layer, in.x);
  return {add_attention(z, layer, z, in.x, z), in.x, in.input};
}

template <class T>
Stream<T> early_qk(const Stream<T>& in, const Layer<T>& layer) {
  const Vector<T> z = add_feed_forward(in.x, layer, in.x);
  return {add_attention(z, layer, in.x, in.x, z), in.x, in.input};
}

template <class T>
Stream<T> parallel(const Stream<T>& in, const Layer<T>& layer) {
  const Vector<T> y = add_attention(in.x, layer, in.x, in.x, in.x);
  return {add_feed_forward(y, layer, in.x), in.x, in.input};
}

template <class T>
Stream<T> half_attention(const Stream<T>& in, const Layer<T>& layer) {
  return {add_attention(in.x, layer, in.x, in.x, in.x), in.before_ffn, in.input};
}

template <class T>
Stream<T> half_feed_forward(const Stream<T>& in, const Layer<T>& layer) {
  return {add_feed_forward(in.x, layer, in.x), in.x, in.input};
}

template <class T>
std::array<NamedBlock<T>, 8> all_blocks() {
  return {{{"standard", standard<T>},
           {"swapped", swapped<T>},
           {"early_q", early_q<T>},
           {"early_k", early_k<T>},
           {"early_qk", early_qk<T>},
           {"parallel", parallel<T>},
           {"shifted_q", shifted_q<T>},
           {"single_q", single_q<T>}}};
}

template <class T>
Layer<T> draw_layer(const Shape& shape, std::size_t positions, std::uint64_t seed,
                    std::size_t index) {
  assert(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
  const std::size_t q = shape.heads * shape.head_dim;
  const std::size_t kv = shape.kv_heads * shape.head_dim;
  const auto tensor = [&](Tensor which, std::size_t size, double mean, double deviation) {
    const std::uint64_t stream =
        index * static_cast<std::uint64_t>(Tensor::count) + static_cast<std::uint64_t>(which);
    return draw<T>(size, seed, stream, mean, deviation);
  };
  const auto weights = [&](Tensor which, std::size_t outputs, std::size_t inputs) {
    return tensor(which, outputs * inputs, 0, 1 / std::sqrt(static_cast<double>(inputs)));
  };
  const auto epsilon = static_cast<T>(norm_epsilon);
  return {
      {shape.heads, shape.kv_heads, shape.head_dim, positions, epsilon,
       tensor(Tensor::attention_gain, shape.hidden, 1, 0.1), weights(Tensor::q, q, shape.hidden),
       weights(Tensor::k, kv, shape.hidden), weights(Tensor::v, kv, shape.hidden),
       weights(Tensor::o, shape.hidden, q), tensor(Tensor::k_rows, positions * kv, 0, 1),
       tensor(Tensor::v_rows, positions * kv, 0, 1)},
      {epsilon, tensor(Tensor::ffn_gain, shape.hidden, 1, 0.1),
       weights(Tensor::gate, shape.ffn, shape.hidden), weights(Tensor::up, shape.ffn, shape.hidden),
       weights(Tensor::down, shape.hidden, shape.ffn)}};
}

template <class T>
Vector<T> draw_input(const Shape& shape, std::uint64_t seed, std::size_t number) {
  return draw<T>(shape.hidden, seed, input_stream + number, 0, 1);
}

MixedDifference mixed_difference(Block<double> run, const Stream<double>& in, Layer<double> layer,
                                 double a, double m) {
  const auto out = [&](double scale_a, double scale_m) {
    layer.scale_a = scale_a;
    layer.scale_m = scale_m;
    return run(in, layer).x;
  };
  const std::array<Vector<double>, 4> corners{out(a, m), out(a, 1), out(1, m), out(1, 1)};
  MixedDifference mixed;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const double delta = corners[0][i] - corners[1][i] - corners[2][i] + corners[3][i];
    mixed.difference = std::max(mixed.difference, std::abs(delta));
    for (const Vector<double>& corner : corners) {
      mixed.magnitude = std::max(mixed.magnitude, std::abs(corner[i]));
    }
  }
  return mixed;
}

#define QFS_INSTANTIATE(T)                                                             \
  template Vector<T> attend(const Attention<T>&, const Vector<T>&, const Vector<T>&,   \
                            const Vector<T>&);                                         \
  template Vector<T> feed_forward(const FeedForward<T>&, const Vector<T>&);            \
  template Stream<T> half_attention(const Stream<T>&, const Layer<T>&);                \
  template Stream<T> half_feed_forward(const Stream<T>&, const Layer<T>&);             \
  template Stream<T> standard(const Stream<T>&, const Layer<T>&);                      \
  template Stream<T> shifted_q(const Stream<T>&, const Layer<T>&);                     \
  template Stream<T> single_q(const Stream<T>&, const Layer<T>&);                      \
  template Stream<T> swapped(const Stream<T>&, const Layer<T>&);                       \
  template Stream<T> early_q(const Stream<T>&, const Layer<T>&);                       \
  template Stream<T> early_k(const Stream<T>&, const Layer<T>&);                       \
  template Stream<T> early_qk(const Stream<T>&, const Layer<T>&);                      \
  template Stream<T> parallel(const Stream<T>&, const Layer<T>&);                      \
  template std::array<NamedBlock<T>, 8> all_blocks();                                  \
  template Layer<T> draw_layer(const Shape&, std::size_t, std::uint64_t, std::size_t); \
  template Vector<T> draw_input(const Shape&, std::uint64_t, std::size_t);
QFS_INSTANTIATE(float)
QFS_INSTANTIATE(double)
#undef QFS_INSTANTIATE

}  // namespace qfs::block
