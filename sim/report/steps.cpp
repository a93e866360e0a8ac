#include "sim/report/steps.hpp"

#include <algorithm>
#include <cassert>

namespace qfs {
namespace {

bool is_used(const Row& row) { return row.is_operation() && row.fate == RowFate::used; }

bool ends_stack(const Row& row) {
  return is_used(row) && (row.op == OpKind::o || row.op == OpKind::ffn || is_reduce(row.op));
}

bool is_lm_head(const Row& row) { return is_used(row) && row.op == OpKind::lm_head; }

StepTime& step_at(std::vector<StepTime>& steps, StepId step) {
  if (steps.size() <= step.value()) {
    steps.resize(step.value() + 1);
  }
  return steps[step.value()];
}

/// Lets each step begin where the one before it ends, and none end before it begins.
void put_in_a_row(std::vector<StepTime>& steps) {
  Femtoseconds start{0};
  for (StepTime& step : steps) {
    step.start = start;
    step.stack_end = std::max(step.stack_end, start);
    step.end = std::max(step.end, step.stack_end);
    start = step.end;
  }
}

/// What a request takes for a token after the first or, of one token, for that.
Seconds token_time(std::span<const StepTime> steps) {
  return tpot_of(steps).value_or(to_seconds(steps.front().length()));
}

}  // namespace

RequestSteps request_steps(const ExecutionTable& table, std::size_t requests) {
  RequestSteps all(requests);
  for (const Row& row : table.rows) {
    if (!ends_stack(row) && !is_lm_head(row)) {
      continue;
    }
    for (const Member& member : row.members) {
      StepTime& step = step_at(all.at(member.request.value()), member.step);
      Femtoseconds& end = ends_stack(row) ? step.stack_end : step.end;
      end = std::max(end, row.end);
    }
  }
  for (std::vector<StepTime>& steps : all) {
    put_in_a_row(steps);
  }
  return all;
}

std::vector<StepTime> wave_steps(std::span<const std::vector<StepTime>> requests) {
  std::vector<StepTime> steps;
  for (const std::vector<StepTime>& own : requests) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      StepTime& step = step_at(steps, StepId(i));
      step.stack_end = std::max(step.stack_end, own[i].stack_end);
      step.end = std::max(step.end, own[i].end);
    }
  }
  put_in_a_row(steps);
  return steps;
}

std::vector<StepTime> steps_of(const ExecutionTable& table) {
  std::size_t requests = 0;
  for (const Row& row : table.rows) {
    for (const Member& member : row.members) {
      requests = std::max(requests, member.request.value() + 1);
    }
  }
  return wave_steps(request_steps(table, requests));
}

Femtoseconds drained_at(const ExecutionTable& table) {
  Femtoseconds last{0};
  for (const Row& row : table.rows) {
    const bool never_came = row.is_message() && row.fate == RowFate::lost;
    last = std::max(last, never_came ? row.start : row.end);
  }
  return last;
}

std::optional<Seconds> tpot_of(std::span<const StepTime> steps) {
  if (steps.size() < 2) {
    return std::nullopt;
  }
  const Seconds later = to_seconds(steps.back().end - steps.front().end);
  return Seconds(later.value() / static_cast<double>(steps.size() - 1));
}

DecodeSpeed speed_of(const RequestSteps& requests) {
  assert(!requests.empty() && !requests.front().empty());
  DecodeSpeed speed;
  Seconds sum(0);
  Seconds tpots(0);
  double several = 0;  // requests of several tokens
  for (const std::vector<StepTime>& steps : requests) {
    const Seconds token = token_time(steps);
    sum += token;
    speed.tokens_per_s += 1 / token.value();
    if (steps.size() > 1) {
      tpots += token;
      several += 1;
    }
  }
  speed.tokens_per_s_per_user = static_cast<double>(requests.size()) / sum.value();
  if (several > 0) {
    speed.tpot = Seconds(tpots.value() / several);
  }
  return speed;
}

}  // namespace qfs
