// How the holder of the cache goes about attention: with the least traffic, or in one of the
// conventional forms that 003 compares it with (which change no result beyond rounding); with the
// exact softmax, or with a calibrated unit of 000 in two phases, on `minimal` traffic alone.
#pragma once

#include <optional>

#include "base/units.hpp"
#include "decode/softmax_choice.hpp"
#include "kernels/forms/decode_forms.hpp"

namespace qfs {

struct AttentionMethod {
  AttentionForm form = AttentionForm::minimal;  // of a sweep
  CacheGrowth growth = CacheGrowth::in_place;   // of an append
  SoftmaxChoice softmax = {};
  /// Room on chip for the fp32 scores of one launch, between the phases of a calibrated sweep; what
  /// does not fit is written to memory and read again. None: unlimited.
  std::optional<Bytes> score_buffer = {};
};

}  // namespace qfs
