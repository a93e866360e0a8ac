// Alarms of the protocol: what is due at an instant happens after all else that happens at it, and
// before the devices choose what to do next.
#pragma once

#include <functional>
#include <map>
#include <systemc>

#include "base/units.hpp"
#include "hardware/instant.hpp"

namespace qfs {

class Timers : public sc_core::sc_module {
 public:
  Timers(sc_core::sc_module_name name, Instant& instant);

  /// Calls `action` at `time`, which is not past; of one time in the order in which they were set.
  void at(Femtoseconds time, std::function<void()> action);

 private:
  void run();
  void go_off();

  Instant& instant_;
  std::multimap<Femtoseconds, std::function<void()>> pending_;
  sc_core::sc_event ev_set_;
};

}  // namespace qfs
