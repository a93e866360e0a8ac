// What the devices are to execute: the graph, who executes which operation, and which operations
// and messages go together. Made by the placement (system/), never changed while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "decode/graph.hpp"
#include "decode/work.hpp"

namespace qfs {

/// Who waits for a value of an operation.
struct Consumer {
  OpId operation;
  Carried carried;
};

/// That `consumer` waits for a value of `producer`.
struct Wait {
  OpId producer;
  Consumer consumer;
};

/// By operation: who waits for it.
class Consumers {
 public:
  Consumers() = default;
  /// Of one producer in the order of `waits`.
  Consumers(std::size_t operations, const std::vector<Wait>& waits) : first_(operations + 1) {
    for (const Wait& wait : waits) {
      ++first_[wait.producer.value() + 1];
    }
    for (std::size_t producer = 0; producer < operations; ++producer) {
      first_[producer + 1] += first_[producer];
    }
    std::vector<std::uint32_t> next = first_;
    all_.resize(waits.size());
    for (const Wait& wait : waits) {
      all_[next[wait.producer.value()]++] = wait.consumer;
    }
  }

  std::span<const Consumer> operator[](std::size_t producer) const {
    return std::span(all_).subspan(first_[producer], first_[producer + 1] - first_[producer]);
  }

 private:
  std::vector<std::uint32_t> first_;  // by operation; and the end
  std::vector<Consumer> all_;
};

/// Whether who has the one value has the other too.
constexpr bool covers(const Carried& has, const Carried& asked) {
  return has.value == asked.value && (has.part == asked.part || has.part.count == 1);
}

/// Operations whose results leave for other devices in one message, when the last of them is done.
using Reply = std::vector<OpId>;

/// A call of a stateless pool: the operations that have to run on one instance.
using Call = std::vector<OpId>;

inline constexpr std::uint32_t in_none = UINT32_MAX;  // of calls or replies

struct Program {
  Graph graph;
  CountingRules rules;
  std::size_t wave = 1;             // requests that move through the layers together
  std::vector<DeviceId> device_of;  // by operation; of a call, that of the pool's first instance
  Consumers consumers;
  std::vector<std::uint32_t> awaited_inputs;  // by operation: for how many inputs it waits
  /// By operation: another device waits for the result in this step, so that it goes first.
  std::vector<bool> awaited_elsewhere;
  /// By operation: how many of its wave share its batch key (kind, layer, step and shard).
  std::vector<std::uint32_t> wave_members;
  std::vector<bool> ends_request;  // by operation: the last of its request
  std::vector<Reply> replies;
  std::vector<std::uint32_t> reply_of;  // by operation: index into `replies`, or in_none
  std::vector<Call> calls;
  std::vector<std::uint32_t> call_of;  // by operation: index into `calls`, or in_none
  std::size_t pool_instances = 1;      // the first so many devices, where there are calls

  /// By device and device: where a message from the one for the other goes first. Empty: there.
  std::vector<std::vector<DeviceId>> next_hop;

  [[nodiscard]] std::size_t wave_of(RequestId request) const { return request.value() / wave; }
};

}  // namespace qfs
