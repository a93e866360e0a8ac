#include "hardware/protocol/timers.hpp"

#include <utility>

#include "hardware/simulated_time.hpp"

namespace qfs {

Timers::Timers(sc_core::sc_module_name name, Instant& instant)
    : sc_module(name), instant_(instant) {
  SC_HAS_PROCESS(Timers);
  SC_THREAD(run);
}

void Timers::at(Femtoseconds time, std::function<void()> action) {
  pending_.emplace(time, std::move(action));
  ev_set_.notify(sc_core::SC_ZERO_TIME);
}

void Timers::run() {
  while (true) {
    if (pending_.empty()) {
      wait(ev_set_);
    } else if (pending_.begin()->first > now()) {
      wait(to_sc_time(pending_.begin()->first - now()), ev_set_);
    } else {
      instant_.in_turn(Stage::alarms, 0, [this] { go_off(); });
    }
  }
}

void Timers::go_off() {
  while (!pending_.empty() && pending_.begin()->first <= now()) {
    const std::function<void()> action = std::move(pending_.begin()->second);
    pending_.erase(pending_.begin());
    action();
  }
}

}  // namespace qfs
