// What the resources of a table are in the layout of their system: whose they are and between
// which sides they lead.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hardware/execution_table.hpp"
#include "system/layout.hpp"

namespace qfs {

/// The device of an executor and of all that it does beside, or the port.
std::string place_of(const Resource& resource);

class Places {
 public:
  Places(const ExecutionTable& table, const Layout& layout);

  /// Of a device's resource.
  [[nodiscard]] std::optional<DeviceSide> side_of(std::size_t resource) const {
    return sides_[resource];
  }
  /// Whether it is a port from the one side to the other.
  [[nodiscard]] bool leads(std::size_t resource, DeviceSide from, DeviceSide to) const;

 private:
  struct Direction {
    DeviceSide from;
    DeviceSide to;
  };
  std::vector<std::optional<DeviceSide>> sides_;      // by resource
  std::vector<std::optional<Direction>> directions_;  // likewise
};

}  // namespace qfs
