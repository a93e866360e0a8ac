// The number formats of a run.
#pragma once

#include "kernels/format.hpp"

namespace qfs {

struct Formats {
  Format kv = Format::bf16;  // of the cache
  Format wire =
      Format::bf16;  // of q, k, v and o between operations and devices; lse is always fp32
  Format residual_wire = Format::fp32;  // of the residual stream, likewise
};

}  // namespace qfs
