// The interconnect. Each direction is a port that takes one message at a time, whichever device it
// is for, then a wire: the port is busy for message_overhead + bytes / bandwidth, the message
// arrives `latency` later; first in, first out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <systemc>
#include <vector>

#include "base/random.hpp"
#include "base/units.hpp"
#include "decode/operation.hpp"
#include "hardware/config.hpp"
#include "hardware/disturbances.hpp"
#include "hardware/execution_table.hpp"
#include "hardware/instant.hpp"
#include "hardware/protocol/stall_source.hpp"

namespace qfs {

/// A value of one operation.
struct MessageItem {
  OpId producer;
  Carried carried;
  auto operator<=>(const MessageItem&) const = default;
};

/// Values on their way to another device.
struct Message {
  DeviceId from;
  DeviceId to;
  std::vector<MessageItem> items;
  std::vector<std::byte> payload;  // of the items in this order; empty in runs without numerics
  Row row;                         // as the sender filled it; the link adds start, end and id
  Femtoseconds left_port;          // its last byte; the link's to fill in
  std::uint64_t number = 0;        // among those from this sender to this receiver (delivery.hpp)
};

/// Where messages go: a link's entrance, a device's arrival.
class MessageSink : virtual public sc_core::sc_interface {
 public:
  virtual void put(std::shared_ptr<Message> message) = 0;
};

class LinkDirection : public sc_core::sc_module, public MessageSink {
 public:
  /// The devices that the wire leads to, by DeviceId; the others stay unbound.
  sc_core::sc_vector<sc_core::sc_port<MessageSink, 1, sc_core::SC_ZERO_OR_MORE_BOUND>> out_device;

  /// Rows go to `table` under `resource`.
  LinkDirection(sc_core::sc_module_name name, const LinkConfig& config, std::size_t devices,
                ExecutionTable& table, std::size_t resource, Instant& instant,
                const Disturbances& disturbances = {});

  /// Takes the message now; it queues for the port. row.wire_bytes says how long it is.
  void put(std::shared_ptr<Message> message) override;

 private:
  void wait_for_turn();
  void deliver();
  [[nodiscard]] Femtoseconds next_jitter();
  void disturb(Row& row);

  LinkConfig config_;
  ExecutionTable& table_;
  std::size_t resource_;
  Instant& instant_;
  Random jitter_random_;
  std::uint64_t messages_ = 0;
  Femtoseconds port_free_;
  Femtoseconds last_arrival_;
  StallSource stalls_;
  MessageFaults faults_;
  Random loss_random_;
  Random lateness_random_;
  std::multimap<Femtoseconds, std::shared_ptr<Message>> in_flight_;  // by arrival
  sc_core::sc_event ev_arrival_;
};

}  // namespace qfs
