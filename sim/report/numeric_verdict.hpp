// What the numeric checks of a whole run come to.
#pragma once

#include <string>

#include "sim/run/result.hpp"

namespace qfs {

struct NumericVerdict {
  bool checked = false;   // at least one point was
  double operation = 0;   // worst relative error of an executed operation
  double end_to_end = 0;  // worst distance from the fp64 decoder
  std::string failure;    // the first, e.g. "early_q: o at layer 7, step 0, request 0"; empty: none

  [[nodiscard]] bool passed() const { return failure.empty(); }
};

NumericVerdict numeric_verdict(const RunResult& result);

}  // namespace qfs
