// The eight block orders of a decoder layer as plain functions of one request's residual stream,
// for T = float or double: no operations, no devices, no formats. It is what 001 section 6 can be
// checked on, and an account of every order that shares nothing with the graph or the kernels.
//
// A(q, k, v) is attention with its RMS norm and output product: the query, key and value are
// projected from the normed streams that it is given, swept over a frozen cache of n rows, and the
// current token is folded in (no rotary embedding, no query or key norm). M(x) is the SwiGLU
// feed-forward with its RMS norm. Neither includes the residual; both outputs are scaled (by a and
// m) wherever they enter the stream.
#pragma once

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace qfs::block {

template <class T>
using Vector = std::vector<T>;

// Softmax states: (o, lse), 001 section 5.

/// One KV head's rows: row t at k + t * stride, head_dim values; the same for v.
template <class T>
struct Rows {
  const T* k = nullptr;
  const T* v = nullptr;
  std::size_t positions = 0;  // 0 is legal
  std::size_t stride = 0;
  std::size_t head_dim = 0;
};

/// Attention of one query among the rows seen so far; without rows lse = -infinity, o is not read.
template <class T>
struct State {
  Vector<T> o;
  T lse{};
};

/// q . k / sqrt(d) over the head_dim values of q.
template <class T>
T score(std::span<const T> q, const T* k) {
  using std::sqrt;
  T sum(0);
  for (std::size_t i = 0; i < q.size(); ++i) {
    sum += q[i] * k[i];
  }
  return sum / sqrt(T(static_cast<double>(q.size())));
}

/// Two plain passes: the largest score, then the weighted sum. q.size() == rows.head_dim.
template <class T>
State<T> sweep(std::span<const T> q, const Rows<T>& rows) {
  using std::exp;
  using std::log;
  assert(q.size() == rows.head_dim && rows.stride >= rows.head_dim);
  State<T> state{Vector<T>(q.size(), T(0)), T(-std::numeric_limits<double>::infinity())};
  Vector<T> scores(rows.positions);
  T top = state.lse;
  for (std::size_t t = 0; t < rows.positions; ++t) {
    scores[t] = score(q, rows.k + t * rows.stride);
    top = scores[t] > top ? scores[t] : top;
  }
  T total(0);
  for (std::size_t t = 0; t < rows.positions; ++t) {
    const T weight = exp(scores[t] - top);
    total += weight;
    for (std::size_t i = 0; i < q.size(); ++i) {
      state.o[i] += weight * rows.v[t * rows.stride + i];
    }
  }
  if (rows.positions > 0) {
    state.lse = top + log(total);
    for (T& value : state.o) {
      value /= total;
    }
  }
  return state;
}

/// The current token joins: o <- o + sigmoid(s - lse) (v - o), lse <- logaddexp(lse, s).
template <class T>
State<T> fold(State<T> state, std::span<const T> q, const T* k, const T* v) {
  using std::exp;
  using std::log;
  assert(state.o.size() == q.size());
  const T s = score(q, k);
  if (state.lse == T(-std::numeric_limits<double>::infinity())) {
    return {Vector<T>(v, v + q.size()), s};
  }
  const T gap = s - state.lse;
  const T weight = T(1) / (T(1) + exp(-gap));  // exp may overflow: 0 is then right
  for (std::size_t i = 0; i < q.size(); ++i) {
    state.o[i] += weight * (v[i] - state.o[i]);
  }
  state.lse = gap > T(0) ? s + log(T(1) + exp(-gap)) : state.lse + log(T(1) + exp(gap));
  return state;
}

// The two sub-layers.

/// Weights row-major, outputs x inputs. Query head g reads KV head g / (heads / kv_heads).
template <class T>
struct Attention {
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t positions = 0;  // rows of the frozen cache
  T epsilon{};
  Vector<T> gain;  // of the norm
  Vector<T> wq, wk, wv, wo;
  Vector<T> k_rows, v_rows;  // positions x kv_heads x head_dim
};

/// A(q, k, v): each argument is the residual stream that this projection reads.
template <class T>
Vector<T> attend(const Attention<T>& attention, const Vector<T>& q_from, const Vector<T>& k_from,
                 const Vector<T>& v_from);

template <class T>
struct FeedForward {
  T epsilon{};
  Vector<T> gain;
  Vector<T> gate, up, down;
};

/// M(x).
template <class T>
Vector<T> feed_forward(const FeedForward<T>& ffn, const Vector<T>& x);

// Blocks.

/// What one block is made of: it may pair one layer's attention with another layer's feed-forward.
template <class T>
struct Layer {
  Attention<T> attention;
  FeedForward<T> ffn;
  T scale_a = 1;
  T scale_m = 1;
};

/// The residual stream between two blocks, with what later blocks may still read.
template <class T>
struct Stream {
  Vector<T> x;
  Vector<T> before_ffn;  // what the last feed-forward read; the network's input until there was one
  Vector<T> input;       // the network's
};

/// The stream that enters a network.
template <class T>
Stream<T> enter(const Vector<T>& input) {
  return {input, input, input};
}

// One function per order of DESIGN section 4. Attention first:
template <class T>
Stream<T> standard(const Stream<T>& in, const Layer<T>& layer);
template <class T>
Stream<T> shifted_q(const Stream<T>& in, const Layer<T>& layer);  // q reads in.before_ffn
template <class T>
Stream<T> single_q(const Stream<T>& in, const Layer<T>& layer);  // q reads in.input
// Feed-forward first:
template <class T>
Stream<T> swapped(const Stream<T>& in, const Layer<T>& layer);
template <class T>
Stream<T> early_q(const Stream<T>& in, const Layer<T>& layer);
template <class T>
Stream<T> early_k(const Stream<T>& in, const Layer<T>& layer);
template <class T>
Stream<T> early_qk(const Stream<T>& in, const Layer<T>& layer);
// Side by side:
template <class T>
Stream<T> parallel(const Stream<T>& in, const Layer<T>& layer);

// Half blocks, for the ends of a stack whose boundaries lie half a sub-layer over.
template <class T>
Stream<T> half_attention(const Stream<T>& in, const Layer<T>& layer);
template <class T>
Stream<T> half_feed_forward(const Stream<T>& in, const Layer<T>& layer);

template <class T>
using Block = Stream<T> (*)(const Stream<T>&, const Layer<T>&);

template <class T>
struct NamedBlock {
  std::string_view name;
  Block<T> run;
};

/// All eight, in the order of DESIGN section 4.
template <class T>
std::array<NamedBlock<T>, 8> all_blocks();

/// 001 section 6: whether a block's two branches meet.
struct MixedDifference {
  double difference = 0;  // largest value of B(aA, mM) - B(aA, M) - B(A, mM) + B(A, M)
  double magnitude = 1;   // largest value of the four outputs, at least 1
};
/// Of one block in fp64 on the stream `in`; a and m scale what attention and feed-forward add.
MixedDifference mixed_difference(Block<double> run, const Stream<double>& in, Layer<double> layer,
                                 double a, double m);

// Seeded parameters.

struct Shape {
  std::size_t hidden = 0;
  std::size_t heads = 0;
  std::size_t kv_heads = 0;  // divides heads
  std::size_t head_dim = 0;
  std::size_t ffn = 0;
};

/// Layer `index` of a network of this shape over a cache of `positions` rows. Weights have
/// deviation 1 / sqrt(inputs), cached rows 1, gains 1 + 0.1 N(0, 1). Drawn in fp64 and rounded to
/// T; a longer cache begins with the rows of a shorter one.
template <class T>
Layer<T> draw_layer(const Shape& shape, std::size_t positions, std::uint64_t seed,
                    std::size_t index);

/// Standard normal values, `hidden` of them; each number gives another vector.
template <class T>
Vector<T> draw_input(const Shape& shape, std::uint64_t seed, std::size_t number = 0);

}  // namespace qfs::block
