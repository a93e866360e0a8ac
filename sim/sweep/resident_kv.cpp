#include "sim/sweep/resident_kv.hpp"

#include "kernels/format.hpp"
#include "sim/config/system_config.hpp"

namespace qfs {

Bytes resident_kv(const RunConfig& run) {
  const std::size_t row =
      2 * run.model.kv_heads * row_bytes(run.numerics.formats.kv, run.model.head_dim);
  std::int64_t positions = 0;
  for (const std::size_t context : request_contexts(run, run.workload.context)) {
    positions += static_cast<std::int64_t>(context + run.workload.tokens);
  }
  return Bytes(positions * static_cast<std::int64_t>(row * run.model.layers));
}

}  // namespace qfs
