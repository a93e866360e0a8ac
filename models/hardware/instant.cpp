#include "hardware/instant.hpp"

#include <vector>

namespace qfs {

Instant::Instant(sc_core::sc_module_name name) : sc_module(name) {
  SC_HAS_PROCESS(Instant);
  SC_METHOD(look);
  sensitive << ev_look_;
  dont_initialize();
}

void Instant::at(Stage stage, std::size_t place, std::function<void()> action) {
  turns_.emplace(std::pair(stage, place), std::move(action));
  ev_look_.notify(sc_core::SC_ZERO_TIME);
}

void Instant::in_turn(Stage stage, std::size_t place, const std::function<void()>& action) {
  sc_core::sc_event ev_done;
  at(stage, place, [&] {
    action();
    ev_done.notify();
  });
  wait(ev_done);
}

/// Looks again, round after round, as long as anything is going on.
void Instant::look() {
  if (sc_core::sc_pending_activity_at_current_time()) {
    next_trigger(sc_core::SC_ZERO_TIME);
    return;
  }
  run_stage();
  if (!turns_.empty()) {
    next_trigger(sc_core::SC_ZERO_TIME);
  }
}

void Instant::run_stage() {
  const Stage stage = turns_.begin()->first.first;
  std::vector<std::function<void()>> actions;
  while (!turns_.empty() && turns_.begin()->first.first == stage) {
    actions.push_back(std::move(turns_.extract(turns_.begin()).mapped()));
  }
  for (const std::function<void()>& action : actions) {
    action();
  }
}

}  // namespace qfs
