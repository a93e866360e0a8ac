// What is known only while it runs about the calls of a pool and about replies: which instance has
// a call, and what of a reply is still to be done. Shared by all devices of a system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/program.hpp"

namespace qfs {

class CallBook {
 public:
  explicit CallBook(const Program& program);  // which outlives it

  /// Where the operation is executed; of a call that nobody has been given yet, the pool's first
  /// instance.
  [[nodiscard]] DeviceId device_of(OpId operation) const;
  /// The results of `launched` are about to leave: calls that they open go, all of them, to the
  /// instance with the fewest open calls, the lowest index among equals.
  void open_calls(std::span<const Operation* const> launched);
  /// The operation is done. Gives the operations whose results now leave for other devices: itself,
  /// the whole reply that it completes, or none.
  std::span<const OpId> end(OpId operation);

 private:
  void close_if_done(std::uint32_t call);

  const Program& program_;
  std::vector<std::uint32_t> instance_of_;  // by call; in_none: not open yet
  std::vector<std::size_t> left_of_call_;   // operations to be done
  std::vector<std::size_t> left_of_reply_;  // likewise
  std::vector<std::size_t> open_calls_;     // by instance
  std::vector<OpId> alone_;                 // the last answer of end(), if of one operation
};

}  // namespace qfs
