#include "hardware/instant.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace qfs {

Instant::Instant(sc_core::sc_module_name name) : sc_module(name) {
  SC_HAS_PROCESS(Instant);
  SC_METHOD(look);
  sensitive << ev_look_;
  dont_initialize();
}

void Instant::at(Stage stage, std::size_t place, std::function<void()> action) {
  turns_.push_back({stage, place, std::move(action)});
  if (!is_looking_) {  // else it looks again by itself
    ev_look_.notify();
  }
}

void Instant::in_turn(Stage stage, std::size_t place, const std::function<void()>& action) {
  if (ev_done_.empty()) {
    ev_done_.push_back(std::make_unique<sc_core::sc_event>());
  }
  std::unique_ptr<sc_core::sc_event> done = std::move(ev_done_.back());
  ev_done_.pop_back();
  at(stage, place, [&] {
    action();
    done->notify();
  });
  wait(*done);
  ev_done_.push_back(std::move(done));
}

/// Looks again, round after round, as long as anything is going on.
void Instant::look() {
  if (sc_core::sc_pending_activity_at_current_time()) {
    next_trigger(sc_core::SC_ZERO_TIME);
    return;
  }
  is_looking_ = true;
  run_stage();
  is_looking_ = false;
  if (!turns_.empty()) {
    next_trigger(sc_core::SC_ZERO_TIME);
  }
}

void Instant::run_stage() {
  const auto earlier = [](const Turn& a, const Turn& b) { return a.stage < b.stage; };
  const Stage stage = std::min_element(turns_.begin(), turns_.end(), earlier)->stage;
  std::size_t later = 0;
  for (Turn& turn : turns_) {
    if (turn.stage == stage) {
      running_.push_back(std::move(turn));
    } else {
      std::swap(turns_[later++], turn);
    }
  }
  turns_.erase(turns_.begin() + static_cast<std::ptrdiff_t>(later), turns_.end());
  const auto before = [](const Turn& a, const Turn& b) { return a.place < b.place; };
  if (!std::is_sorted(running_.begin(), running_.end(), before)) {
    std::stable_sort(running_.begin(), running_.end(), before);
  }
  for (const Turn& turn : running_) {
    turn.action();
  }
  running_.clear();
}

}  // namespace qfs
