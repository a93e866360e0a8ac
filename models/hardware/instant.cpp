#include "hardware/instant.hpp"

namespace qfs {

Instant::Instant(sc_core::sc_module_name name) : sc_module(name) {
  SC_HAS_PROCESS(Instant);
  SC_METHOD(look);
  sensitive << ev_look_;
  dont_initialize();
}

void Instant::wait_until_settled() { wait_in(last_); }
void Instant::wait_until_quiet() { wait_in(first_); }

void Instant::wait_in(Waiters& waiters) {
  ++waiters.count;
  ev_look_.notify(sc_core::SC_ZERO_TIME);
  wait(waiters.ev_go);
}

void Instant::release(Waiters& waiters) {
  waiters.count = 0;
  waiters.ev_go.notify();
}

/// Looks again, round after round, as long as anything is going on.
void Instant::look() {
  if (sc_core::sc_pending_activity_at_current_time()) {
    next_trigger(sc_core::SC_ZERO_TIME);
  } else if (first_.count > 0) {
    release(first_);
    if (last_.count > 0) {
      next_trigger(sc_core::SC_ZERO_TIME);
    }
  } else if (last_.count > 0) {
    release(last_);
  }
}

}  // namespace qfs
