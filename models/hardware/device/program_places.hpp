// Where a device keeps what it knows of an operation that it may execute, and of its inputs: side
// by side, without gaps. The same for all devices of a system, worked out once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "hardware/program.hpp"

namespace qfs {

class ProgramPlaces {
 public:
  struct Place {
    std::uint32_t index = 0;       // among the operations of the device
    std::uint32_t first_slot = 0;  // among all their inputs: the operation's first
  };
  explicit ProgramPlaces(const Program& program);

  [[nodiscard]] const Place& of(OpId operation) const { return places_[operation.value()]; }
  /// How many of both a device needs; each instance of a pool has a place for every operation in
  /// calls.
  [[nodiscard]] const Place& needed_by(DeviceId device) const { return needed_[device.value()]; }
  /// Operations that wait for nothing.
  [[nodiscard]] const std::vector<OpId>& first() const { return first_; }

 private:
  std::vector<Place> places_;  // by operation
  std::vector<Place> needed_;  // by device
  std::vector<OpId> first_;
};

}  // namespace qfs
