#include "hardware/call_book.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace qfs {

CallBook::CallBook(const Program& program)
    : program_(program),
      instances_of_(program.calls.size()),
      open_calls_(program.pool_instances),
      avoided_(program.pool_instances),
      done_(program.graph.operations.size()) {
  progress_.push_back(nothing_done());
}

CallBook::Progress CallBook::nothing_done() const {
  Progress progress;
  for (const Call& call : program_.calls) {
    progress.left_of_call.push_back(call.size());
  }
  for (const Reply& reply : program_.replies) {
    progress.left_of_reply.push_back(reply.size());
  }
  return progress;
}

std::uint32_t CallBook::call_of(OpId operation) const {
  return program_.calls.empty() ? in_none : program_.call_of[operation.value()];
}

DeviceId CallBook::device_of(OpId operation) const {
  const std::uint32_t call = call_of(operation);
  return call == in_none || instances_of_[call].empty() ? program_.device_of[operation.value()]
                                                        : DeviceId(instances_of_[call].back());
}

bool CallBook::executes(DeviceId device, OpId operation) const {
  const std::uint32_t call = call_of(operation);
  if (call == in_none || instances_of_[call].size() <= 1) {
    return device_of(operation) == device;
  }
  const auto& instances = instances_of_[call];
  return std::find(instances.begin(), instances.end(), device.value()) != instances.end();
}

int CallBook::attempt(DeviceId device, OpId operation) const {
  const std::uint32_t call = call_of(operation);
  if (call == in_none || instances_of_[call].size() <= 1) {
    return 1;
  }
  const auto& instances = instances_of_[call];
  const auto place = std::find(instances.begin(), instances.end(), device.value());
  assert(place != instances.end());
  return 1 + static_cast<int>(place - instances.begin());
}

/// Of those that are not avoided or, if there is none, of the others.
std::optional<std::uint32_t> CallBook::least_loaded(const std::vector<std::uint32_t>& but) const {
  std::optional<std::uint32_t> best;
  const auto rank = [&](std::uint32_t instance) {
    return std::pair(static_cast<bool>(avoided_[instance]), open_calls_[instance]);
  };
  for (std::uint32_t instance = 0; instance < open_calls_.size(); ++instance) {
    const bool excluded = std::find(but.begin(), but.end(), instance) != but.end();
    if (!excluded && (!best || rank(instance) < rank(*best))) {
      best = instance;
    }
  }
  return best;
}

void CallBook::open_calls(std::span<const Operation* const> launched) {
  if (program_.calls.empty()) {
    return;
  }
  const std::uint32_t least = *least_loaded({});
  for (const Operation* producer : launched) {
    for (const Consumer& consumer : program_.consumers[producer->id.value()]) {
      const std::uint32_t call = program_.call_of[consumer.operation.value()];
      if (call != in_none && instances_of_[call].empty()) {
        instances_of_[call].push_back(least);
        ++open_calls_[least];
      }
    }
  }
}

std::optional<DeviceId> CallBook::open_again(std::span<const std::uint32_t> calls) {
  const std::optional<std::uint32_t> next = least_loaded(instances_of_[calls.front()]);
  if (!next) {
    return std::nullopt;
  }
  for (const std::uint32_t call : calls) {
    instances_of_[call].push_back(*next);
    ++open_calls_[*next];
  }
  while (progress_.size() < instances_of_[calls.front()].size()) {
    progress_.push_back(nothing_done());
  }
  return DeviceId(*next);
}

std::span<const OpId> CallBook::end(OpId operation, int attempt) {
  if (!program_.calls.empty()) {
    close_if_done(program_.call_of[operation.value()], attempt);
  }
  const std::uint32_t reply =
      program_.replies.empty() ? in_none : program_.reply_of[operation.value()];
  if (reply == in_none) {
    alone_ = {operation};
    return alone_;
  }
  if (--progress_[static_cast<std::size_t>(attempt - 1)].left_of_reply[reply] > 0) {
    return {};
  }
  return program_.replies[reply];
}

void CallBook::close_if_done(std::uint32_t call, int attempt) {
  if (call == in_none) {
    return;
  }
  const auto index = static_cast<std::size_t>(attempt - 1);
  if (--progress_[index].left_of_call[call] == 0) {
    --open_calls_[instances_of_[call][index]];
  }
}

bool CallBook::note_done(OpId operation) {
  if (done_[operation.value()]) {
    return false;
  }
  done_[operation.value()] = true;
  ++done_count_;
  return true;
}

}  // namespace qfs
