#include "sim/report/steps.hpp"

#include <algorithm>
#include <cassert>

namespace qfs {
namespace {

bool ends_stack(const Row& row) {
  return row.is_operation() &&
         (row.op == OpKind::o || row.op == OpKind::ffn || row.op == OpKind::reduce);
}

bool is_lm_head(const Row& row) { return row.is_operation() && row.op == OpKind::lm_head; }

StepTime& step_at(std::vector<StepTime>& steps, StepId step) {
  if (steps.size() <= step.value()) {
    steps.resize(step.value() + 1);
  }
  return steps[step.value()];
}

}  // namespace

std::vector<StepTime> steps_of(const ExecutionTable& table) {
  std::vector<StepTime> steps;
  for (const Row& row : table.rows) {
    if (ends_stack(row)) {
      StepTime& step = step_at(steps, row.step);
      step.stack_end = std::max(step.stack_end, row.end);
    } else if (is_lm_head(row)) {
      StepTime& step = step_at(steps, row.step);
      step.end = std::max(step.end, row.end);
    }
  }
  Femtoseconds start{0};
  for (StepTime& step : steps) {
    step.start = start;
    step.stack_end = std::max(step.stack_end, start);
    step.end = std::max(step.end, step.stack_end);
    start = step.end;
  }
  return steps;
}

Femtoseconds drained_at(const ExecutionTable& table) {
  Femtoseconds last{0};
  for (const Row& row : table.rows) {
    last = std::max(last, row.end);
  }
  return last;
}

DecodeSpeed speed_of(std::span<const StepTime> steps, std::size_t requests) {
  assert(!steps.empty());
  DecodeSpeed speed;
  Seconds token = to_seconds(steps.front().length());
  if (steps.size() > 1) {
    const Seconds later = to_seconds(steps.back().end - steps.front().end);
    token = Seconds(later.value() / static_cast<double>(steps.size() - 1));
    speed.tpot = token;
  }
  speed.tokens_per_s_per_user = 1 / token.value();
  speed.tokens_per_s = static_cast<double>(requests) * speed.tokens_per_s_per_user;
  return speed;
}

}  // namespace qfs
