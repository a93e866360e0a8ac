#include "hardware/call_book.hpp"

#include <algorithm>

namespace qfs {

CallBook::CallBook(const Program& program)
    : program_(program),
      instance_of_(program.calls.size(), in_none),
      open_calls_(program.pool_instances) {
  for (const Call& call : program.calls) {
    left_of_call_.push_back(call.size());
  }
  for (const Reply& reply : program.replies) {
    left_of_reply_.push_back(reply.size());
  }
}

DeviceId CallBook::device_of(OpId operation) const {
  const std::uint32_t call = program_.calls.empty() ? in_none : program_.call_of[operation.value()];
  return call == in_none || instance_of_[call] == in_none ? program_.device_of[operation.value()]
                                                    : DeviceId(instance_of_[call]);
}

void CallBook::open_calls(std::span<const Operation* const> launched) {
  if (program_.calls.empty()) {
    return;
  }
  const auto least = static_cast<std::uint32_t>(
      std::min_element(open_calls_.begin(), open_calls_.end()) - open_calls_.begin());
  for (const Operation* producer : launched) {
    for (const Consumer& consumer : program_.consumers[producer->id.value()]) {
      const std::uint32_t call = program_.call_of[consumer.operation.value()];
      if (call != in_none && instance_of_[call] == in_none) {
        instance_of_[call] = least;
        ++open_calls_[least];
      }
    }
  }
}

std::span<const OpId> CallBook::end(OpId operation) {
  if (!program_.calls.empty()) {
    close_if_done(program_.call_of[operation.value()]);
  }
  const std::uint32_t reply =
      program_.replies.empty() ? in_none : program_.reply_of[operation.value()];
  if (reply == in_none) {
    alone_ = {operation};
    return alone_;
  }
  if (--left_of_reply_[reply] > 0) {
    return {};
  }
  return program_.replies[reply];
}

void CallBook::close_if_done(std::uint32_t call) {
  if (call != in_none && --left_of_call_[call] == 0) {
    --open_calls_[instance_of_[call]];
  }
}

}  // namespace qfs
