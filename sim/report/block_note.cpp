#include "sim/report/block_note.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace qfs {

BlockNote block_note(BlockOrder block) {
  switch (block) {
    case BlockOrder::standard:
      return {.control = BlockOrder::standard, .runs_existing_checkpoint = true};
    case BlockOrder::swapped:
      return {.control = BlockOrder::swapped};
    case BlockOrder::early_q:
      return {.control = BlockOrder::swapped, .bits_per_byte = 0.0001};
    case BlockOrder::early_k:
      return {.control = BlockOrder::swapped, .bits_per_byte = -0.0026};
    case BlockOrder::early_qk:
      return {.control = BlockOrder::swapped, .bits_per_byte = -0.0011};
    case BlockOrder::parallel:
      return {.control = BlockOrder::swapped, .bits_per_byte = -0.0017};
    case BlockOrder::shifted_q:
      return {.control = BlockOrder::standard, .bits_per_byte = -0.0139};
    case BlockOrder::single_q:
      return {.control = BlockOrder::standard, .bits_per_byte = 0.0974};
  }
  throw std::logic_error("block_note: block order without a note");
}

std::string block_note_text(BlockOrder block) {
  const BlockNote note = block_note(block);
  if (note.runs_existing_checkpoint) {
    return "runs an existing checkpoint unchanged";
  }
  const std::string name = block == BlockOrder::early_q ? "Q-First; " : "";
  const std::string trained = name + "needs a model trained so: ";
  if (note.control == block) {
    return trained + "the control of its family";
  }
  return trained + fmt::format("{:+.4f} against {}", note.bits_per_byte, name_of(note.control));
}

}  // namespace qfs
