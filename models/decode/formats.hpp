// The number formats of a run.
#pragma once

#include "kernels/format.hpp"

namespace qfs {

struct Formats {
  Format kv = Format::bf16;  // of the cache, in rows of one head
  /// Of q, k, v and o wherever one operation hands them to another, in memory and on the wire, in
  /// rows of one head (lse is always fp32).
  Format wire = Format::bf16;
  /// Of the residual stream, likewise, in one row.
  Format residual_wire = Format::fp32;
  Format weights = Format::bf16;  // of every weight matrix; norm gains stay bf16
};

}  // namespace qfs
