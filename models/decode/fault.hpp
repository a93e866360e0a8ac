// Deliberate faults, so that anyone can see that the numeric check fails when it should. Off unless
// configured.
#pragma once

#include "base/enum_names.hpp"
#include "base/ids.hpp"
#include "decode/operation.hpp"

namespace qfs {

enum class FaultKind {
  none,
  drop_edge,  // `operation` of the layer no longer waits for its input `value`, and reads what
              // happens to be there
  alter_in_flight,  // the query of the layer arrives at the cache device off by one part in a
                    // thousand
  swap_kv,          // the append of the layer stores the key as value and the value as key
  skip_position,    // the sweep of the layer leaves out its newest cached position
  wrong_weights,    // `operation` of the layer multiplies by the weights of the layer before it (of
                    // layer 0: the last)
};

template <>
inline constexpr EnumNames<FaultKind, 6> enum_names<FaultKind>{{
    {FaultKind::none, "none"},
    {FaultKind::drop_edge, "drop_edge"},
    {FaultKind::alter_in_flight, "alter_in_flight"},
    {FaultKind::swap_kv, "swap_kv"},
    {FaultKind::skip_position, "skip_position"},
    {FaultKind::wrong_weights, "wrong_weights"},
}};

struct Fault {
  FaultKind kind = FaultKind::none;
  LayerId layer;
  StepId step;
  OpKind operation = OpKind::ffn;         // drop_edge, wrong_weights
  ValueKind value = ValueKind::residual;  // drop_edge
};

}  // namespace qfs
