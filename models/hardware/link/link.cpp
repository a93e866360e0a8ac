#include "hardware/link/link.hpp"

#include <algorithm>
#include <utility>

#include "hardware/simulated_time.hpp"

namespace qfs {

LinkDirection::LinkDirection(sc_core::sc_module_name name, const LinkConfig& config,
                             std::size_t devices, ExecutionTable& table, std::size_t resource,
                             Instant& instant, const Disturbances& disturbances)
    : sc_module(name),
      out_device("out_device", devices),
      config_(config),
      table_(table),
      resource_(resource),
      instant_(instant),
      jitter_random_(config.jitter_seed, resource),
      stalls_(disturbances.stalls, resource),
      faults_(disturbances.messages),
      loss_random_(random_of(faults_.seed, DrawFor::loss, resource)),
      lateness_random_(random_of(faults_.seed, DrawFor::lateness, resource)) {
  SC_HAS_PROCESS(LinkDirection);
  SC_METHOD(wait_for_turn);
  sensitive << ev_arrival_;
  dont_initialize();
}

Femtoseconds LinkDirection::next_jitter() {
  const double share = jitter_random_.uniform(messages_);
  return to_femtoseconds(Seconds(config_.jitter.value() * share));
}

/// A lost message goes its way like any other until it is gone; a late one may be overtaken.
void LinkDirection::disturb(Row& row) {
  if (faults_.lost > 0 && loss_random_.uniform(messages_) < faults_.lost) {
    row.fate = RowFate::lost;
  } else if (faults_.late > 0 && lateness_random_.uniform(messages_) < faults_.late) {
    row.end += to_femtoseconds(faults_.delay);
  }
}

void LinkDirection::put(std::shared_ptr<Message> message) {
  Row& row = message->row;
  row.kind = RowKind::message;
  row.fate = RowFate::used;
  row.resource = resource_;
  row.ready = now();
  row.start = std::max(row.ready, port_free_) + to_femtoseconds(stalls_.next());
  port_free_ = row.start + to_femtoseconds(Seconds(config_.message_overhead.value() +
                                                   (row.wire_bytes / config_.bandwidth).value()));
  message->left_port = port_free_;
  row.end = std::max(port_free_ + to_femtoseconds(config_.latency) + next_jitter(), last_arrival_);
  last_arrival_ = row.end;
  disturb(row);
  ++messages_;
  row.id = table_.add(row).id;
  if (row.fate == RowFate::lost) {
    return;
  }
  const auto place = in_flight_.emplace(row.end, std::move(message));
  if (place == in_flight_.begin()) {
    ev_arrival_.notify(to_sc_time(place->first - now()));
  }
}

void LinkDirection::wait_for_turn() {
  instant_.at(Stage::arrivals, resource_, [this] { deliver(); });
}

void LinkDirection::deliver() {
  while (!in_flight_.empty() && in_flight_.begin()->first <= now()) {
    const std::shared_ptr<Message> message = std::move(in_flight_.begin()->second);
    in_flight_.erase(in_flight_.begin());
    out_device[message->to.value()]->put(message);
  }
  if (!in_flight_.empty()) {
    ev_arrival_.notify(to_sc_time(in_flight_.begin()->first - now()));
  }
}

}  // namespace qfs
