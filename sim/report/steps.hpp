// When the steps of a run began and ended, and the speeds that follow.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "hardware/execution_table.hpp"

namespace qfs {

/// One decode step of the whole run. Step 0 starts at time 0, step t + 1 where step t ends.
struct StepTime {
  Femtoseconds start;
  Femtoseconds stack_end;  // last `o` or `ffn` of the step
  Femtoseconds end;        // last `lm_head` of the step; without one, stack_end

  [[nodiscard]] Femtoseconds length() const { return end - start; }
  [[nodiscard]] Femtoseconds stack_length() const { return stack_end - start; }
};

/// The steps in order; none for a table without `o`, `ffn` and `lm_head`.
std::vector<StepTime> steps_of(const ExecutionTable& table);

/// When the last row of any kind ended. Appends and the messages that feed only them may outlive
/// the last step.
Femtoseconds drained_at(const ExecutionTable& table);

struct DecodeSpeed {
  std::optional<Seconds>
      tpot;  // (end of last token - end of first) / (tokens - 1); none for one token
  double tokens_per_s_per_user = 0;  // 1 / TPOT; for one token, 1 / step time
  double tokens_per_s = 0;           // of all requests together
};

/// Needs at least one step.
DecodeSpeed speed_of(std::span<const StepTime> steps, std::size_t requests);

}  // namespace qfs
