// Sees to it that calls of a stateless pool come to their end (disturbances.hpp): the owner sends
// the inputs of one that takes too long to another instance, and takes of every result the first
// that comes. Only where calls have a time-out is there one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "hardware/call_book.hpp"
#include "hardware/link/link.hpp"
#include "hardware/program.hpp"
#include "hardware/protocol/outages.hpp"
#include "hardware/protocol/timers.hpp"

namespace qfs {

struct CallWatchConfig {
  Seconds timeout{0};            // positive
  Seconds latency{0};            // until the owner knows of the end of a call without results
  std::vector<Outages> outages;  // by instance
};

class CallWatch {
 public:
  /// Sends values that the calls' owner has, in one message.
  using Send =
      std::function<void(DeviceId to, const std::vector<MessageItem>& values, int attempt)>;

  /// All references outlive it.
  CallWatch(const Program& program, CallBook& book, Timers& timers, CallWatchConfig config,
            Send send);

  /// At the owner: a value for this consumer, on another device, has been sent.
  void note_sent(const Consumer& consumer);
  /// On an instance: the operation is done.
  void note_done(OpId operation);
  /// At the receiver: a value has come. Whether it is the first time; only then does it count.
  bool accept(DeviceId from, const MessageItem& item);
  /// Whether the operation is of a call of which the owner has all results. What an instance still
  /// makes of it nobody sees.
  [[nodiscard]] bool over(OpId operation) const;
  /// All instances are dead: the run will not come to its end.
  [[nodiscard]] bool nobody_left() const;
  /// Whether anybody waits for something in the message, and can still get it.
  [[nodiscard]] bool wanted(const Message& message) const;

 private:
  /// A call as its owner sees it.
  struct Watched {
    std::vector<MessageItem> inputs;
    std::size_t inputs_to_send = 0;  // once for each reader
    std::set<MessageItem> results;   // that have not come
    std::set<OpId> silent;           // operations without readers that are not known to be done
    [[nodiscard]] bool over() const { return results.empty() && silent.empty(); }
  };

  [[nodiscard]] std::uint32_t call_of(OpId operation) const {
    return program_.call_of[operation.value()];
  }
  [[nodiscard]] bool is_instance(DeviceId device) const;
  /// Whether a reader of the value on this device has work to do that counts.
  [[nodiscard]] bool has_reader(DeviceId at, const MessageItem& item) const;
  void learn(const Operation& producer);
  void watch(std::uint32_t call, Femtoseconds until);
  void time_out(Femtoseconds deadline);
  void call_again(const std::vector<std::uint32_t>& instances,
                  const std::vector<std::uint32_t>& calls);

  const Program& program_;
  CallBook& book_;
  Timers& timers_;
  CallWatchConfig config_;
  Send send_;
  std::vector<Watched> calls_;
  std::map<Femtoseconds, std::vector<std::uint32_t>> deadlines_;
};

}  // namespace qfs
