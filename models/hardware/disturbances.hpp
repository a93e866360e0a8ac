// What goes wrong in a run: devices and links that stall or are slow, messages that get lost or are
// late, instances of a pool that stand still or die (DESIGN.md 5, `faults`). All of it moves time
// and never a value: the outputs equal those of the undisturbed run bit for bit (of merges in order
// of arrival, which differ by definition, within their bounds). Every draw is a pure function of
// the seed, of what it is for, and of how many came before, so that a run can be repeated.
//
// - Stalls. Before a launch the device stands still, then chooses among what is ready; an append
//   takes its rows, waits, then writes; a message waits at the head of its port's queue.
// - Slow devices: bandwidth, MAC and exponential rate divided by the factor, launches take so many
//   times as long.
// - Messages. A lost one takes its port and its bytes like any other but never arrives. A late one
//   arrives `delay` later than it would have; others overtake it on the wire. A message that has
//   not been acknowledged `timeout` after its last byte left the port is repeated, the next time
//   after twice the time, and so on, up to a second. The acknowledgement takes
//   the link's latency, no bytes, and is never lost. The receiver drops what it has already and
//   takes the messages of one sender in the order in which they were sent: what comes early waits.
// - Instances. A launch under way at a stall ends later by the stall's length, none begins in it;
//   messages are still received and acknowledged. At its death a launch under way never ends and
//   nothing that arrives is acknowledged; what had been handed to a port still travels.
// - Calls. If not all results of a call have arrived `call_timeout` after its last input was sent,
//   its owner sends all inputs again to the least loaded of the instances that do not have it,
//   the lowest index among equals; those that let a call time out and have not answered since come
//   last. Whichever result is the first of its kind counts, later ones are dropped; an instance
//   whose call is over does not know and works on it all the same. A call that returns nothing is
//   known to be over one latency after its last operation. With nobody left to ask the owner waits
//   for those that it has asked; if all are dead the run fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace qfs {

/// Of every device's launches, every write of cache rows, every message.
struct Stalls {
  double probability = 0;  // of one, in [0, 1]
  Seconds longest{0};      // a stall is uniform in [0, longest)
  std::uint64_t seed = 1;
};

struct SlowDevice {
  std::string device;  // its name in tables
  double factor = 1;   // at least 1
};

struct MessageFaults {
  double lost = 0;  // probability for each sending, below 1; above 0 only with a time-out
  double late = 0;  // likewise; of those that are not lost
  Seconds delay{0};
  std::optional<Seconds> timeout;  // positive; none: nothing is repeated
  std::uint64_t seed = 1;

  [[nodiscard]] bool any() const { return lost > 0 || late > 0 || timeout.has_value(); }
};

struct InstanceFault {
  std::size_t instance = 0;  // of the pool
  Seconds at{0};
  std::optional<Seconds> duration;  // none: it dies; only with a call time-out
};

struct Disturbances {
  Stalls stalls;
  std::vector<SlowDevice> slow;
  MessageFaults messages;
  std::vector<InstanceFault> instances;
  std::optional<Seconds> call_timeout;  // positive; pooled only

  [[nodiscard]] bool any() const {
    return stalls.probability > 0 || !slow.empty() || messages.any() || !instances.empty() ||
           call_timeout.has_value();
  }
};

}  // namespace qfs
