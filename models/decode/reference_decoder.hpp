// The straight-line fp64 decoder: the block written down as its formulas, one token after the
// other. It knows nothing of graphs, devices, batches or number formats; it shares only weights,
// initial caches and inputs with the simulation.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "decode/block_order.hpp"
#include "decode/inputs.hpp"
#include "decode/softmax_choice.hpp"

namespace qfs {

class ReferenceDecoder {
 public:
  /// Decodes one request from its initial cache on. A row of scores is each token's: the cached
  /// positions and, last, the token itself. `inputs` outlives it.
  ReferenceDecoder(const Inputs& inputs, BlockOrder block, RequestId request,
                   const SoftmaxChoice& softmax = {});

  /// One token through all layers: from the stack's input to its output, `hidden` values each.
  std::vector<double> step(std::vector<double> x);
  /// The logits of a stack output (final norm and LM head).
  [[nodiscard]] std::vector<double> logits(std::span<const double> output) const;

 private:
  using Vector = std::vector<double>;
  /// Keys and values made so far in one layer, one row of kv_heads * head_dim values per token.
  struct History {
    std::vector<Vector> k;
    std::vector<Vector> v;
  };

  [[nodiscard]] Vector layer(LayerId layer, const Vector& x);
  /// A, with the stream values that query, key and value read.
  [[nodiscard]] Vector attention(LayerId layer, const Vector& q_from, const Vector& k_from,
                                 const Vector& v_from);
  /// M.
  [[nodiscard]] Vector feed_forward(LayerId layer, const Vector& x) const;
  [[nodiscard]] Vector project(const RowStore& w, const std::vector<Bf16>& norm,
                               const Vector& x) const;
  void finish_heads(Vector& heads, const std::vector<Bf16>& gain) const;
  /// Softmax attention of one query head over the initial cache and the history.
  void attend(LayerId layer, std::size_t head, std::span<const double> q,
              std::span<double> o) const;

  const Inputs& inputs_;
  BlockOrder block_;
  RequestId request_;
  SoftmaxChoice softmax_;
  std::size_t position_;
  std::vector<History> history_;  // by layer
  Vector network_input_;          // of the step
  Vector before_ffn_;             // the stream before the last feed-forward
};

}  // namespace qfs
