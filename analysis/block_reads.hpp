// Where each block order reads, restated from the table of DESIGN.md 4 (001 section 6), on purpose
// without models/decode's graph.
#pragma once

#include <stdexcept>

#include "decode/block_order.hpp"

namespace qfs {

/// A point of the residual stream, as a layer sees it.
enum class ReadPoint {
  input,          // x, the layer's input
  after_ffn,      // z = x + M(x), where the feed-forward comes first
  before_ffn,     // the stream before the previous layer's feed-forward; layer 0: x
  network_input,  // the input of the first layer
};

struct BlockReads {
  bool ffn_first = false;  // the attention's output is added to z, else the feed-forward's to y
  ReadPoint q = ReadPoint::input;
  ReadPoint k = ReadPoint::input;
  ReadPoint v = ReadPoint::input;
};

constexpr BlockReads block_reads(BlockOrder block) {
  constexpr ReadPoint x = ReadPoint::input;
  constexpr ReadPoint z = ReadPoint::after_ffn;
  switch (block) {
    case BlockOrder::standard:
      return {false, x, x, x};
    case BlockOrder::swapped:
      return {true, z, z, z};
    case BlockOrder::early_q:
      return {true, x, z, z};
    case BlockOrder::early_k:
      return {true, z, x, z};
    case BlockOrder::early_qk:
      return {true, x, x, z};
    case BlockOrder::parallel:  // x + A(x) + M(x)
      return {true, x, x, x};
    case BlockOrder::shifted_q:
      return {false, ReadPoint::before_ffn, x, x};
    case BlockOrder::single_q:
      return {false, ReadPoint::network_input, x, x};
  }
  throw std::logic_error("block_reads: unknown block order");
}

/// The point that a layer reads: in the first layer the stream before any feed-forward and the
/// network's input are its own input.
constexpr ReadPoint point_in_layer(ReadPoint point, std::size_t layer) {
  const bool own_input = point != ReadPoint::after_ffn && layer == 0;
  return own_input ? ReadPoint::input : point;
}

/// Whether q, k and v of that layer read one point, and k and v do.
constexpr bool qkv_together(const BlockReads& reads, std::size_t layer) {
  return reads.k == reads.v && point_in_layer(reads.q, layer) == reads.k;
}
constexpr bool kv_together(const BlockReads& reads) { return reads.k == reads.v; }

/// Whether q reads the stream as the feed-forward before it leaves it.
constexpr bool q_reads_ffn(const BlockReads& reads) {
  return reads.q == (reads.ffn_first ? ReadPoint::after_ffn : ReadPoint::input);
}

}  // namespace qfs
