// What a model gives up, or not, when it is trained with a block order. The source measured it; no
// simulation can.
#pragma once

#include <string>

#include "decode/block_order.hpp"

namespace qfs {

/// Where the orders and their quality come from.
inline constexpr const char* block_source = "arXiv:2608.15473";

struct BlockNote {
  BlockOrder control = BlockOrder::standard;  // of its family; itself if it is the control
  double bits_per_byte = 0;  // trained so, against the control; the source, section 5's two tables
  bool runs_existing_checkpoint = false;  // unchanged
};

BlockNote block_note(BlockOrder block);
/// The note in words, one line.
std::string block_note_text(BlockOrder block);

}  // namespace qfs
