#include "hardware/protocol/call_watch.hpp"

#include <algorithm>
#include <utility>

#include "hardware/simulated_time.hpp"

namespace qfs {

CallWatch::CallWatch(const Program& program, CallBook& book, Timers& timers, CallWatchConfig config,
                     Send send)
    : program_(program),
      book_(book),
      timers_(timers),
      config_(std::move(config)),
      send_(std::move(send)),
      calls_(program.calls.size()) {
  for (const Operation& operation : program.graph.operations) {
    learn(operation);
  }
}

/// Which calls read the producer from outside, and what of its own call is read there.
void CallWatch::learn(const Operation& producer) {
  const std::uint32_t own = call_of(producer.id);
  const std::span<const Consumer> consumers = program_.consumers[producer.id.value()];
  for (const Consumer& consumer : consumers) {
    const std::uint32_t call = call_of(consumer.operation);
    if (call == own) {
      continue;
    }
    const MessageItem item{producer.id, consumer.carried};
    if (own != in_none) {
      calls_[own].results.insert(item);
    }
    if (call != in_none) {
      Watched& watched = calls_[call];
      ++watched.inputs_to_send;
      if (std::find(watched.inputs.begin(), watched.inputs.end(), item) == watched.inputs.end()) {
        watched.inputs.push_back(item);
      }
    }
  }
  if (own != in_none && consumers.empty()) {
    calls_[own].silent.insert(producer.id);
  }
}

void CallWatch::note_sent(const Consumer& consumer) {
  const std::uint32_t call = call_of(consumer.operation);
  if (call != in_none && --calls_[call].inputs_to_send == 0) {
    watch(call, now() + to_femtoseconds(config_.timeout));
  }
}

void CallWatch::watch(std::uint32_t call, Femtoseconds until) {
  std::vector<std::uint32_t>& calls = deadlines_[until];
  calls.push_back(call);
  if (calls.size() == 1) {
    timers_.at(until, [this, until] { time_out(until); });
  }
}

/// Calls that were sent together go on together.
void CallWatch::time_out(Femtoseconds deadline) {
  std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> by_instances;
  const std::vector<std::uint32_t> due = std::move(deadlines_.extract(deadline).mapped());
  for (const std::uint32_t call : due) {
    if (!calls_[call].over()) {
      by_instances[book_.instances_of(call)].push_back(call);
    }
  }
  for (const auto& [instances, calls] : by_instances) {
    book_.avoid(instances.back(), true);
  }
  for (const auto& [instances, calls] : by_instances) {
    call_again(instances, calls);
  }
}

void CallWatch::call_again(const std::vector<std::uint32_t>& instances,
                           const std::vector<std::uint32_t>& calls) {
  const std::optional<DeviceId> next = book_.open_again(calls);
  if (!next) {
    return;  // all have them; who stands still answers some day
  }
  std::vector<MessageItem> inputs;
  for (const std::uint32_t call : calls) {
    const Watched& watched = calls_[call];
    inputs.insert(inputs.end(), watched.inputs.begin(), watched.inputs.end());
    watch(call, now() + to_femtoseconds(config_.timeout));
  }
  send_(*next, inputs, static_cast<int>(instances.size()) + 1);
}

bool CallWatch::nobody_left() const {
  return std::all_of(config_.outages.begin(), config_.outages.end(),
                     [](const Outages& outages) { return outages.dead(now()); });
}

void CallWatch::note_done(OpId operation) {
  const std::uint32_t call = call_of(operation);
  if (call != in_none && calls_[call].silent.contains(operation)) {
    timers_.at(now() + to_femtoseconds(config_.latency),
               [this, call, operation] { calls_[call].silent.erase(operation); });
  }
}

bool CallWatch::is_instance(DeviceId device) const {
  return device.value() < program_.pool_instances;
}

/// Not what the owner itself sends or passes on.
bool CallWatch::accept(DeviceId from, const MessageItem& item) {
  if (!is_instance(from)) {
    return true;
  }
  book_.avoid(static_cast<std::uint32_t>(from.value()), false);
  return std::erase_if(calls_[call_of(item.producer)].results, [&](const MessageItem& result) {
           return result.producer == item.producer && covers(item.carried, result.carried);
         }) > 0;
}

bool CallWatch::over(OpId operation) const {
  const std::uint32_t call = call_of(operation);
  return call != in_none && calls_[call].over();
}

/// The owner and those behind it have a use for everything.
bool CallWatch::has_reader(DeviceId at, const MessageItem& item) const {
  const std::span<const Consumer> consumers = program_.consumers[item.producer.value()];
  return !is_instance(at) ||
         std::any_of(consumers.begin(), consumers.end(), [&](const Consumer& consumer) {
           const std::uint32_t call = call_of(consumer.operation);
           return call != in_none && !calls_[call].over() && covers(item.carried, consumer.carried);
         });
}

bool CallWatch::wanted(const Message& message) const {
  const auto awaited = [&](const MessageItem& item) {
    const std::set<MessageItem>& results = calls_[call_of(item.producer)].results;
    return std::any_of(results.begin(), results.end(), [&](const MessageItem& result) {
      return result.producer == item.producer && covers(item.carried, result.carried);
    });
  };
  return !nobody_left() &&
         std::any_of(message.items.begin(), message.items.end(), [&](const MessageItem& item) {
           return is_instance(message.from) ? awaited(item) : has_reader(message.to, item);
         });
}

}  // namespace qfs
