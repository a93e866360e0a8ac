// Attention over a KV cache in any form (attention_method.hpp).
#pragma once

#include <cstddef>
#include <span>

#include "decode/kv_cache.hpp"
#include "kernels/forms/decode_forms.hpp"

namespace qfs {

/// The softmax state of every query head of q over the first `positions` rows; positions <=
/// cache.positions(). o.size() == q.size(), lse one value a head. `minimal` runs the fast kernel on
/// the rows as they are stored; the conventional forms compute in fp32 on what they make of them. A
/// score matrix needs queries that a decode step does not have: the keys of each position stand in
/// for its past queries, whose results nobody reads.
void attend_cache(AttentionForm form, std::span<const float> q, const KvCache& cache,
                  std::size_t positions, std::span<float> o, std::span<float> lse);

/// Host memory that attend_cache takes for itself, in bytes.
std::size_t attend_cache_host_bytes(AttentionForm form, const ModelShape& shape,
                                    std::size_t positions);

}  // namespace qfs
