#include "hardware/protocol/delivery.hpp"

#include "hardware/simulated_time.hpp"

namespace qfs {
namespace {

/// So often a message to an instance that has died goes out, at most.
constexpr int enough_attempts = 20;
/// A time-out that is as long as this does not double: the clock has an end.
constexpr Femtoseconds long_timeout{1'000'000'000'000'000};  // a second

}  // namespace

Delivery::Delivery(sc_core::sc_module_name name, const MessageFaults& faults, Seconds latency,
                   std::size_t devices, ExecutionTable& table, Timers& timers,
                   DeliveryQuestions questions)
    : sc_module(name),
      out_link("out_link"),
      out_device("out_device", devices),
      faults_(faults),
      latency_(to_femtoseconds(latency)),
      table_(table),
      timers_(timers),
      questions_(std::move(questions)),
      far_end_(*this) {}

void Delivery::put(std::shared_ptr<Message> message) {
  message->number = connection(*message).sent++;
  transmit(message, faults_.timeout ? to_femtoseconds(*faults_.timeout) : Femtoseconds(0));
}

/// The message's row is the link's to fill in, so a repetition is a copy.
void Delivery::transmit(const std::shared_ptr<Message>& message, Femtoseconds timeout) {
  out_link->put(message);
  if (faults_.timeout) {
    timers_.at(message->left_port + timeout, [this, message, timeout] { check(message, timeout); });
  }
}

/// Each time after twice the time, up to a limit, so that a time-out that is too short ends some
/// day.
void Delivery::check(const std::shared_ptr<Message>& message, Femtoseconds timeout) {
  Connection& link = connection(*message);
  const auto acknowledged = link.acknowledged.find(message->number);
  if (acknowledged != link.acknowledged.end() && acknowledged->second <= now()) {
    return;
  }
  const bool in_vain = message->row.attempt > enough_attempts && !questions_.alive(message->to);
  if (in_vain || !questions_.alive(message->from) || !questions_.wanted(*message)) {
    if (acknowledged == link.acknowledged.end()) {  // it has not arrived, and will not
      link.given_up.insert(message->number);
      hand_over(link);
    }
    return;
  }
  const auto repetition = std::make_shared<Message>(*message);
  ++repetition->row.attempt;
  transmit(repetition, timeout < long_timeout ? 2 * timeout : timeout);
}

void Delivery::arrive(const std::shared_ptr<Message>& message) {
  Row& row = table_.rows[message->row.id.value()];
  if (!questions_.alive(message->to)) {
    row.fate = RowFate::lost;
    return;
  }
  Connection& link = connection(*message);
  const std::uint64_t number = message->number;
  link.acknowledged.try_emplace(number, now() + latency_);
  const bool new_here = number >= link.next && !link.given_up.contains(number) &&
                        link.early.try_emplace(number, message).second;
  if (!new_here) {
    row.fate = RowFate::dropped;
    return;
  }
  hand_over(link);
}

void Delivery::hand_over(Connection& link) {
  while (true) {
    if (link.given_up.erase(link.next) > 0) {
      ++link.next;
      continue;
    }
    const auto first = link.early.find(link.next);
    if (first == link.early.end()) {
      return;
    }
    const std::shared_ptr<Message> message = std::move(first->second);
    link.early.erase(first);
    ++link.next;
    out_device[message->to.value()]->put(message);
  }
}

}  // namespace qfs
