// Whether measured rows can tell every fitted number from the others. A fit always gives an answer;
// from rows of one context, or of small batches only, the answer would be the prior's.
#pragma once

#include <span>
#include <string>

#include "sim/calibrate/kernel_fit.hpp"

namespace qfs {

/// ConfigError that names the first number which the rows of `source` cannot identify, and why.
void require_identifiable(const DeviceFacts& facts, KernelKind kind,
                          std::span<const MeasuredKernel> rows, const std::string& source);

}  // namespace qfs
