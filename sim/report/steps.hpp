// When the steps of a run began and ended, and the speeds that follow.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "hardware/execution_table.hpp"

namespace qfs {

/// One decode step of a request or a wave. Step 0 starts at time 0, step t + 1 where step t ends.
struct StepTime {
  Femtoseconds start;
  Femtoseconds stack_end;  // last `o`, `ffn` or `reduce` of the step
  Femtoseconds end;        // last `lm_head` of the step; without one, stack_end

  [[nodiscard]] Femtoseconds length() const { return end - start; }
  [[nodiscard]] Femtoseconds stack_length() const { return stack_end - start; }
};

/// Of each request, its steps in order; none for a request without `o`, `ffn` and `lm_head`.
using RequestSteps = std::vector<std::vector<StepTime>>;

RequestSteps request_steps(const ExecutionTable& table, std::size_t requests);
/// Of the requests of a wave as one: a step ends with that of its last request.
std::vector<StepTime> wave_steps(std::span<const std::vector<StepTime>> requests);
/// Of all requests of the table as one wave.
std::vector<StepTime> steps_of(const ExecutionTable& table);

/// When the last row of any kind ended. Appends and the messages that feed only them may outlive
/// the last step.
Femtoseconds drained_at(const ExecutionTable& table);

/// (end of last token - end of first) / (tokens - 1); none for one token.
std::optional<Seconds> tpot_of(std::span<const StepTime> steps);

struct DecodeSpeed {
  std::optional<Seconds> tpot;  // mean over the requests of several tokens; none if there are none
  double tokens_per_s_per_user = 0;  // 1 / mean of TPOT, or of the step time of one token
  double tokens_per_s = 0;           // of all requests together
};

/// Needs at least one request, each with at least one step.
DecodeSpeed speed_of(const RequestSteps& requests);

}  // namespace qfs
