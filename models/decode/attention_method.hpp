// How the holder of the cache goes about attention: with the least traffic, or in one of the
// conventional forms that 003 compares it with. No choice changes a result beyond rounding.
#pragma once

#include "kernels/forms/decode_forms.hpp"

namespace qfs {

struct AttentionMethod {
  AttentionForm form = AttentionForm::minimal;  // of a sweep
  CacheGrowth growth = CacheGrowth::in_place;   // of an append
};

}  // namespace qfs
