// What is known only while it runs about the calls of a pool and about replies: which instances
// have a call, and what of a reply is still to be done. Shared by all devices of a system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hardware/program.hpp"

namespace qfs {

class CallBook {
 public:
  explicit CallBook(const Program& program);  // which outlives it

  /// Where the operation is executed: of a call, by the instance that got it last; of one that
  /// nobody has been given yet, by the pool's first.
  [[nodiscard]] DeviceId device_of(OpId operation) const;
  /// Whether the device executes the operation; several instances can have the same call.
  [[nodiscard]] bool executes(DeviceId device, OpId operation) const;
  /// The how manieth to have the operation's call this instance is; 1 if it is of no call.
  [[nodiscard]] int attempt(DeviceId device, OpId operation) const;
  /// The results of `launched` are about to leave: calls that they open go, all of them, to the
  /// instance with the fewest open calls, the lowest index among equals.
  void open_calls(std::span<const Operation* const> launched);
  /// The operation is done in this attempt. Gives the operations whose results now leave for other
  /// devices: itself, the whole reply that it completes, or none.
  std::span<const OpId> end(OpId operation, int attempt = 1);
  /// Whether it is the first time that the operation is done.
  bool note_done(OpId operation);
  [[nodiscard]] bool is_done(OpId operation) const { return done_[operation.value()]; }
  /// Different operations done.
  [[nodiscard]] std::size_t done() const { return done_count_; }

  /// Gives calls that the same instances have to one that has none of them, as open_calls() does;
  /// none: all instances have them.
  std::optional<DeviceId> open_again(std::span<const std::uint32_t> calls);
  /// By order of attempts.
  [[nodiscard]] const std::vector<std::uint32_t>& instances_of(std::uint32_t call) const {
    return instances_of_[call];
  }
  /// The instance gets calls only if all others are avoided, too.
  void avoid(std::uint32_t instance, bool avoided) { avoided_[instance] = avoided; }

 private:
  /// How far the calls and replies of one attempt are.
  struct Progress {
    std::vector<std::size_t> left_of_call;   // operations to be done
    std::vector<std::size_t> left_of_reply;  // likewise
  };

  [[nodiscard]] Progress nothing_done() const;
  [[nodiscard]] std::uint32_t call_of(OpId operation) const;
  [[nodiscard]] std::optional<std::uint32_t> least_loaded(
      const std::vector<std::uint32_t>& but) const;
  void close_if_done(std::uint32_t call, int attempt);

  const Program& program_;
  std::vector<std::vector<std::uint32_t>> instances_of_;  // by call; empty: not open yet
  std::vector<Progress> progress_;                        // by attempt, from the first on
  std::vector<std::size_t> open_calls_;                   // by instance
  std::vector<bool> avoided_;                             // by instance
  std::vector<bool> done_;                                // by operation
  std::size_t done_count_ = 0;
  std::vector<OpId> alone_;  // the last answer of end(), if of one operation
};

}  // namespace qfs
