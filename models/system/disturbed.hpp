// What disturbances mean for the devices of a layout.
#pragma once

#include <string>

#include "base/error.hpp"
#include "hardware/config.hpp"
#include "hardware/disturbances.hpp"
#include "hardware/execution_table.hpp"
#include "system/layout.hpp"

namespace qfs {

/// A disturbance that the system does not have or could not bear.
class ImpossibleDisturbance : public ConfigError {
 public:
  /// `key` in full, as in faults.messages.timeout.
  ImpossibleDisturbance(const std::string& key, const std::string& given, const std::string& legal)
      : ConfigError(key + ": " + given + "; legal: " + legal),
        key_(key),
        given_(given),
        legal_(legal) {}
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] const std::string& given() const { return given_; }
  [[nodiscard]] const std::string& legal() const { return legal_; }

 private:
  std::string key_;
  std::string given_;
  std::string legal_;
};

/// Throws ImpossibleDisturbance if this system cannot be disturbed so, or could not bear it: an
/// unknown device, an instance of a pool that there is not, lost messages or dead instances without
/// the time-out by which they would be noticed, a number out of its range.
void require_possible(const Disturbances& disturbances, const Layout& layout);

/// The device of this name as slow as the disturbances make it.
DeviceConfig slowed(DeviceConfig config, const Disturbances& disturbances, const std::string& name);

/// Marks as dropped what only served what was lost or dropped. What nothing depends on stays.
void drop_what_was_in_vain(ExecutionTable& table);

}  // namespace qfs
