// One instant of simulated time is many rounds of the SystemC scheduler. Whoever has to choose
// among what is there at an instant waits until nothing more happens at it.
#pragma once

#include <systemc>

namespace qfs {

class Instant : public sc_core::sc_module {
 public:
  explicit Instant(sc_core::sc_module_name name);

  /// From a thread: returns at the same simulated time, when all else that happens at it has
  /// happened.
  void wait_until_settled();
  /// The same, but before those that call wait_until_settled(): for what takes no time and feeds
  /// the choices of the others.
  void wait_until_quiet();

 private:
  struct Waiters {
    int count = 0;
    sc_core::sc_event ev_go;
  };
  void wait_in(Waiters& waiters);
  void look();
  static void release(Waiters& waiters);

  Waiters first_;
  Waiters last_;
  sc_core::sc_event ev_look_;
};

}  // namespace qfs
