// One instant of simulated time is many rounds of the SystemC scheduler, in an order that the
// standard leaves open. What depends on an order has a turn: at each instant stage after stage,
// within a stage place after place.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <systemc>
#include <vector>

namespace qfs {

enum class Stage {
  arrivals,  // messages reach their devices; place: the port's index among the resources
  ends,      // launches end and their results leave; place: the device
  beside,    // what takes no time and feeds the choices begins; place: the device
  alarms,    // what the protocol does when something has not happened in time
  choices,   // devices that are free choose their next launch; place: the device
  leftover,  // devices that have found nothing do something else; place: the device
};

class Instant : public sc_core::sc_module {
 public:
  explicit Instant(sc_core::sc_module_name name);

  /// Calls `action`, which must not wait, at the same simulated time: when all has happened that
  /// happens at it without a turn, and all earlier stages are over. Whoever has the same stage at
  /// that moment goes by place; what they set off comes after the last of them. Of one place: in
  /// the order of the calls.
  void at(Stage stage, std::size_t place, std::function<void()> action);
  /// From a thread: the same, and returns when it is done.
  void in_turn(Stage stage, std::size_t place, const std::function<void()>& action);

 private:
  struct Turn {
    Stage stage;
    std::size_t place;
    std::function<void()> action;
  };

  void look();
  void run_stage();

  std::vector<Turn> turns_;    // in the order of the calls
  std::vector<Turn> running_;  // of the stage at work
  bool is_looking_ = false;
  sc_core::sc_event ev_look_;
  std::vector<std::unique_ptr<sc_core::sc_event>> ev_done_;  // free to be waited for
};

}  // namespace qfs
