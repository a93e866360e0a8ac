// Decode attention in three plain steps - scores, weights, values - as one loop nest that an
// OpenACC compiler can place on an accelerator, beside the same nest without directives (003
// section 4). K is read row by row where it lies: no transpose, and nothing of n x n.
//
// Operation order, the same in both: per head and row the products of the score summed over
// c = 0 .. key_dim - 1, the largest score, e_l = exp(s_l - top) summed over l = 0 .. n - 1, then
// each output value summed over l = 0 .. n - 1.
//
// The two are bit-equal where the directives change nobody's order: on the host, whether they are
// ignored (a compiler without OpenACC) or obeyed with one gang, worker and lane (libgomp without a
// device), and compiled without licence to re-associate (-ffast-math). On a device the two sum
// reductions (score, total weight) become trees and the results differ by rounding; the largest
// score does not depend on order, and the output sums keep theirs: unlike 003's listing 3, which
// adds atomically into a shared output, each output value here is one lane's own sum over l.
// Neighbouring lanes still read neighbouring values of V.
#pragma once

#include <cstddef>
#include <span>

#include "base/units.hpp"

namespace qfs {

struct DecodeShape {
  std::size_t heads = 1;
  std::size_t kv_heads = 1;   // divides heads; query head g reads KV head g * kv_heads / heads
  std::size_t positions = 0;  // n; 0 is legal and gives zeros
  std::size_t key_dim = 0;    // at least 1
  std::size_t value_dim = 0;
};

/// Attention of one query in fp32. q: heads x key_dim; k: kv_heads x n x key_dim; v: kv_heads x n x
/// value_dim; out: heads x value_dim, which overlaps nothing else. `weights` is scratch for n
/// values.
void decode_sequential(const DecodeShape& shape, std::span<const float> q, std::span<const float> k,
                       std::span<const float> v, std::span<float> weights, std::span<float> out);
/// The same nest with OpenACC directives.
void decode_openacc(const DecodeShape& shape, std::span<const float> q, std::span<const float> k,
                    std::span<const float> v, std::span<float> weights, std::span<float> out);

/// Bytes that a decode must move: every query, row and output once, KV rows shared by their heads,
/// the n weights kept on chip. 003 equation for M_dec and section 6: (h dk + h_kv n (dk + dv) + h
/// dv) x 4.
Bytes decode_traffic(const DecodeShape& shape);
/// Bytes of an n x n score matrix, 003's standard of comparison: 4 n^2.
Bytes score_matrix_bytes(std::size_t positions);

}  // namespace qfs
