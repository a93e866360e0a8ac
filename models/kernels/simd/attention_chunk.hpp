// The vector kernels of the attention sweep: one KV head, one run of its rows, one thread.
#pragma once

#include <cstddef>

#include "kernels/format.hpp"

namespace qfs {

/// `count` neighbouring rows of one KV head, at least 1; scales where the format has them.
struct HeadRows {
  Format format;
  const std::byte* k;
  const std::byte* v;
  const float* k_scales;
  const float* v_scales;
  std::size_t head_dim;
  std::size_t count;
};

/// The vectors, one a head and query, that read one KV head: `group` neighbours in every query.
template <class Value>
struct HeadVectors {
  Value* first;
  std::size_t group;
  std::size_t queries;
  std::size_t head_pitch;   // values between neighbours
  std::size_t query_pitch;  // values between queries

  [[nodiscard]] std::size_t count() const { return group * queries; }
  [[nodiscard]] Value* at(std::size_t i) const {
    return first + i / group * query_pitch + i % group * head_pitch;
  }
};

/// The softmax states of all vectors of q over the rows: o[i * head_dim] on, lse[i]. Where every
/// score is -infinity, lse is too and o is NaN.
void sweep_chunk(const HeadRows& rows, const HeadVectors<const float>& q, float* o, float* lse);
/// scores.at(i)[t] = q_i . k_t / sqrt(head_dim).
void score_chunk(const HeadRows& rows, const HeadVectors<const float>& q,
                 const HeadVectors<float>& scores);
/// o[i * head_dim] on: the sum of weights.at(i)[t] * v_t.
void value_chunk(const HeadRows& rows, const HeadVectors<const float>& weights, float* o);

}  // namespace qfs
