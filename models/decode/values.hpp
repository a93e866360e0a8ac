// How an operation's output lies in memory, and how values travel: the output is one flat vector, a
// value is a slice of it. kv: k, v. qkv: q, k, v. sweep: o of every head, then lse of every head.
// scores: the maxima of every head, the minima, then the scores head by head. values: as sweep,
// then of every head the current token's log weight and its score (neither, if it does not weigh
// it). lm_head: token, its logit.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "decode/formats.hpp"
#include "decode/model_shape.hpp"
#include "decode/operation.hpp"

namespace qfs {

struct Slice {
  std::size_t offset = 0;
  std::size_t count = 0;
};

/// Values in the whole output of an operation.
std::size_t output_size(const ModelShape& shape, const Operation& producer);
/// Where a value lies in the output of `producer`, which must make it; an order edge is an empty
/// slice.
Slice slice_of(const ModelShape& shape, const Operation& producer, const Carried& carried);

/// Rounds an operation's output to what memory keeps of it: every value in its format (a cache's
/// rows are the cache's to round). Idempotent, so that what a message carries loses nothing more.
void round_output(const ModelShape& shape, const Formats& formats, const Operation& producer,
                  std::span<float> output);

/// Appends a value to a payload in the wire's format: residuals and sums in the residual's, a
/// partial's lse, extrema and weights in fp32, tokens and candidates as fp32 (exact below 2^24),
/// all else in `wire`. Scores do not travel. `output` is the producer's whole output.
void encode_value(const ModelShape& shape, const Formats& formats, const Operation& producer,
                  const Carried& carried, std::span<const float> output,
                  std::vector<std::byte>& payload);
/// The reverse: reads one value off the front of `payload` into its slice of `output`; returns what
/// is left.
std::span<const std::byte> decode_value(const ModelShape& shape, const Formats& formats,
                                        const Operation& producer, const Carried& carried,
                                        std::span<const std::byte> payload,
                                        std::span<float> output);

}  // namespace qfs
