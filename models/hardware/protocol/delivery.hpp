// Both ends of a link that loses messages or delivers them late (disturbances.hpp): numbers them,
// repeats what is not acknowledged, drops what comes twice, and hands them over in the order in
// which each sender sent them. Only where messages can be disturbed is there one between the
// devices and their link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <systemc>
#include <utility>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "hardware/disturbances.hpp"
#include "hardware/execution_table.hpp"
#include "hardware/link/link.hpp"
#include "hardware/protocol/timers.hpp"

namespace qfs {

/// What the delivery has to ask others.
struct DeliveryQuestions {
  /// Whether the device takes anything that arrives now.
  std::function<bool(DeviceId)> alive;
  /// Whether anybody still waits for something in the message, so that it is worth repeating.
  std::function<bool(const Message&)> wanted;
};

class Delivery : public sc_core::sc_module, public MessageSink {
 public:
  sc_core::sc_port<MessageSink> out_link;
  /// The devices that the link leads to, by DeviceId; the others stay unbound.
  sc_core::sc_vector<sc_core::sc_port<MessageSink, 1, sc_core::SC_ZERO_OR_MORE_BOUND>> out_device;

  /// `latency`: of an acknowledgement.
  Delivery(sc_core::sc_module_name name, const MessageFaults& faults, Seconds latency,
           std::size_t devices, ExecutionTable& table, Timers& timers, DeliveryQuestions questions);

  /// From a device.
  void put(std::shared_ptr<Message> message) override;
  /// Where the link leads.
  MessageSink& far_end() { return far_end_; }

 private:
  class FarEnd : public MessageSink {
   public:
    explicit FarEnd(Delivery& delivery) : delivery_(delivery) {}
    void put(std::shared_ptr<Message> message) override { delivery_.arrive(message); }

   private:
    Delivery& delivery_;
  };
  /// From one device to another.
  struct Connection {
    std::uint64_t sent = 0;
    std::map<std::uint64_t, Femtoseconds> acknowledged;       // when the sender knows; by number
    std::uint64_t next = 0;                                   // to be handed over
    std::map<std::uint64_t, std::shared_ptr<Message>> early;  // came before their turn
    std::set<std::uint64_t> given_up;                         // will not come
  };

  Connection& connection(const Message& message) {
    return connections_[{message.from, message.to}];
  }
  void transmit(const std::shared_ptr<Message>& message, Femtoseconds timeout);
  void check(const std::shared_ptr<Message>& message, Femtoseconds timeout);
  void arrive(const std::shared_ptr<Message>& message);
  void hand_over(Connection& connection);

  MessageFaults faults_;
  Femtoseconds latency_;
  ExecutionTable& table_;
  Timers& timers_;
  DeliveryQuestions questions_;
  FarEnd far_end_;
  std::map<std::pair<DeviceId, DeviceId>, Connection> connections_;
};

}  // namespace qfs
