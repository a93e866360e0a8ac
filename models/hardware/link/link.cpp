#include "hardware/link/link.hpp"

#include <algorithm>
#include <utility>

#include "hardware/simulated_time.hpp"

namespace qfs {

LinkDirection::LinkDirection(sc_core::sc_module_name name, const LinkConfig& config,
                             std::size_t devices, ExecutionTable& table, std::size_t resource)
    : sc_module(name),
      out_device("out_device", devices),
      config_(config),
      table_(table),
      resource_(resource),
      jitter_random_(config.jitter_seed, resource) {
  SC_HAS_PROCESS(LinkDirection);
  SC_METHOD(deliver);
  sensitive << ev_arrival_;
  dont_initialize();
}

Femtoseconds LinkDirection::next_jitter() {
  const double share = jitter_random_.uniform(messages_++);
  return to_femtoseconds(Seconds(config_.jitter.value() * share));
}

void LinkDirection::put(std::shared_ptr<Message> message) {
  Row& row = message->row;
  row.kind = RowKind::message;
  row.resource = resource_;
  row.ready = now();
  row.start = std::max(row.ready, port_free_);
  port_free_ = row.start + to_femtoseconds(Seconds(config_.message_overhead.value() +
                                                   (row.wire_bytes / config_.bandwidth).value()));
  row.end = std::max(port_free_ + to_femtoseconds(config_.latency) + next_jitter(), last_arrival_);
  last_arrival_ = row.end;
  row.id = table_.add(row).id;
  in_flight_.push_back(std::move(message));
  if (in_flight_.size() == 1) {
    ev_arrival_.notify(to_sc_time(last_arrival_ - now()));
  }
}

void LinkDirection::deliver() {
  while (!in_flight_.empty() && in_flight_.front()->row.end <= now()) {
    const std::shared_ptr<Message> message = std::move(in_flight_.front());
    in_flight_.pop_front();
    out_device[message->to.value()]->put(message);
  }
  if (!in_flight_.empty()) {
    ev_arrival_.notify(to_sc_time(in_flight_.front()->row.end - now()));
  }
}

}  // namespace qfs
