// Which softmax the holder of the cache computes, and from what its grid is laid.
#pragma once

#include "base/enum_names.hpp"
#include "kernels/softmax/softmax_unit.hpp"

namespace qfs {

/// Which scores a calibrated unit takes its extrema from, where the current token is merged
/// (append_first has it among the cached ones: both are one).
enum class Calibration {
  history,  // the cached positions alone: the current token weighs e^{s-M}, maybe more than 1
  row,      // the current token too: its key must be there before any value is weighed
};

template <>
inline constexpr EnumNames<Calibration, 2> enum_names<Calibration>{{
    {Calibration::history, "history"},
    {Calibration::row, "row"},
}};

struct SoftmaxChoice {
  SoftmaxUnit unit;
  Calibration calibration = Calibration::history;
  bool operator==(const SoftmaxChoice&) const = default;

  /// The weights hang on the extrema of the whole row, so that a sweep needs two phases. What
  /// shards of an exact softmax return can be merged without.
  [[nodiscard]] bool is_calibrated() const { return unit.kind != SoftmaxKind::exact; }
};

}  // namespace qfs
