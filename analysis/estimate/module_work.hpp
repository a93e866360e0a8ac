// Multiply-accumulates and logical accesses of the native modules, stage by stage; 002.
//
// A MAC is one product term of an output coordinate of a matrix product, one square of a norm's
// variance, or one product of a norm's weight. A logical access is one element read or written by
// a stage of the staged dense algorithm: a stage reads each of its operands and parameters once and
// writes each result once. Masks leave dense products as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/estimate/modules.hpp"

namespace qfs::native {

/// std::overflow_error where a count leaves 63 bits.
struct ModuleWork {
  std::int64_t macs = 0;
  std::int64_t accesses = 0;

  ModuleWork& operator+=(const ModuleWork& other);
  friend ModuleWork operator*(std::int64_t times, const ModuleWork& one);
  bool operator==(const ModuleWork&) const = default;
};

struct Stage {
  std::string name;        // "self_attention.scores"
  std::int64_t times = 1;  // e.g. in every layer of a stack
  ModuleWork each;
};
using Stages = std::vector<Stage>;

/// For calls without a diagnosis about their work (module_rules.hpp).
Stages stages_of(const Attention& attention);
Stages stages_of(const FeedForward& feed_forward);
Stages stages_of(const NormModule& norm);
Stages stages_of(const Encoder& encoder);
Stages stages_of(const Decoder& decoder);
Stages stages_of(const Transformer& transformer);

ModuleWork total(const Stages& stages);

/// A layer's attentions as modules of their own.
Attention self_attention(const LayerSettings& settings, std::size_t length, const Masks& masks);
Attention memory_attention(const Decoder& decoder);

}  // namespace qfs::native
