// What a device sends, and what it takes of what arrives.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "hardware/device/device.hpp"
#include "hardware/simulated_time.hpp"

namespace qfs {
namespace {

template <class Value>
void add_once(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    values.push_back(value);
  }
}

/// Each value once; of a whole value no parts besides. Items of one producer are added one after
/// the other, so that only the last ones need a look.
void add_item(std::vector<MessageItem>& items, const MessageItem& item) {
  const auto of_producer = std::find_if(items.rbegin(), items.rend(), [&](const MessageItem& i) {
                             return i.producer != item.producer;
                           }).base();
  if (std::any_of(of_producer, items.end(),
                  [&](const MessageItem& i) { return covers(i.carried, item.carried); })) {
    return;
  }
  const auto covered = [&](const MessageItem& i) { return covers(item.carried, i.carried); };
  items.erase(std::remove_if(of_producer, items.end(), covered), items.end());
  items.push_back(item);
}

}  // namespace

/// One message to each other device that needs something of what now leaves, each value once.
void Device::send_results(const Batch& batch) {
  context_.calls.open_calls(batch.members);
  std::map<DeviceId, std::vector<MessageItem>> needed;
  for (const Operation* member : batch.members) {
    const int attempt = context_.calls.attempt(id_, member->id);
    for (const OpId leaving : context_.calls.end(member->id, attempt)) {
      for (const Consumer& consumer : program_.consumers[leaving.value()]) {
        if (!own(consumer.operation)) {
          note_sent(consumer);
          add_item(needed[next_hop(id_, consumer.operation)], {leaving, consumer.carried});
        }
      }
    }
  }
  for (auto& [to, items] : needed) {
    send(to, std::move(items));
  }
}

void Device::note_sent(const Consumer& consumer) {
  if (context_.watch != nullptr) {
    context_.watch->note_sent(consumer);
  }
}

void Device::send_again(DeviceId to, const std::vector<MessageItem>& values, int attempt) {
  send(to, values, attempt);
}

/// Where what the consumer waits for goes first on its way from a device.
DeviceId Device::next_hop(DeviceId from, OpId consumer) const {
  const DeviceId to = context_.calls.device_of(consumer);
  return program_.next_hop.empty() ? to : program_.next_hop[from.value()][to.value()];
}

/// All of a message's row but what the link adds.
Row Device::describe(const std::vector<MessageItem>& items, std::optional<RowId> came_with) const {
  const Operation& first = program_.graph[items.front().producer];
  Row row;
  row.op = first.kind;
  row.layer = first.layer;
  row.shard = first.shard;
  row.step = first.step;
  row.members.reserve(items.size());
  for (const MessageItem& item : items) {
    const Operation& producer = program_.graph[item.producer];
    const RowId made_by = came_with ? *came_with : row_of_[context_.places.of(item.producer).index];
    if (!came_with) {
      row.attempt = std::max(row.attempt, context_.calls.attempt(id_, item.producer));
    }
    add_once(row.carries, item.carried.value);
    row.members.push_back({producer.request, producer.step});
    if (row.deps.empty() || row.deps.back().row != made_by) {
      add_dependency(row.deps, {made_by, context_.table.rows[made_by.value()].end});
    }
    row.wire_bytes += value_bytes(program_.rules, item.carried);
  }
  std::sort(row.members.begin(), row.members.end());
  row.members.erase(std::unique(row.members.begin(), row.members.end()), row.members.end());
  return row;
}

/// `came_with`: the message that brought the values, if they were not made here.
void Device::send(DeviceId to, std::vector<MessageItem> items, int attempt,
                  std::optional<RowId> came_with) {
  auto message = std::make_shared<Message>();
  message->from = id_;
  message->to = to;
  message->row = describe(items, came_with);
  message->row.attempt = std::max(message->row.attempt, attempt);
  message->items = std::move(items);
  if (kernels_.numerics != nullptr) {
    for (const MessageItem& item : message->items) {
      kernels_.numerics->send(program_.graph[item.producer], item.carried, message->payload);
    }
    if (std::cmp_not_equal(message->payload.size(), message->row.wire_bytes.value())) {
      throw std::logic_error("Device::send: the payload is not as long as the bytes charged");
    }
  }
  out_device[to.value()]->put(std::move(message));
}

/// Takes the values that come for the first time into the buffers; gives these. A call that is over
/// takes its inputs like any other: on one instance all of a kind goes by the order of the steps,
/// so that what is done too late is in nobody's way.
std::vector<MessageItem> Device::unload(const Message& message) {
  std::vector<MessageItem> first;
  std::span<const std::byte> payload = message.payload;
  for (const MessageItem& item : message.items) {
    const bool counts = context_.watch == nullptr || context_.watch->accept(message.from, item);
    if (counts) {
      first.push_back(item);
    }
    if (kernels_.numerics != nullptr && counts) {
      payload = kernels_.numerics->receive(program_.graph[item.producer], item.carried, payload);
    } else if (kernels_.numerics != nullptr) {
      payload = payload.subspan(
          static_cast<std::size_t>(value_bytes(program_.rules, item.carried).value()));
    }
  }
  return first;
}

void Device::put(std::shared_ptr<Message> message) {
  if (outages_.dead(now())) {
    context_.table.rows[message->row.id.value()].fate = RowFate::lost;
    return;
  }
  const std::vector<MessageItem> items = unload(*message);
  if (items.empty()) {
    context_.table.rows[message->row.id.value()].fate = RowFate::dropped;
  }
  for (const MessageItem& item : items) {
    for (const Consumer& consumer : program_.consumers[item.producer.value()]) {
      if (covers(item.carried, consumer.carried) && own(consumer.operation)) {
        take_input(consumer.operation, {message->row.id, now()});
      }
    }
  }
  if (!program_.next_hop.empty()) {
    pass_on(*message, items);
  }
}

/// What came here because the sender has no port to the device that needs it.
void Device::pass_on(const Message& message, const std::vector<MessageItem>& items) {
  std::map<DeviceId, std::vector<MessageItem>> passed;
  for (const MessageItem& item : items) {
    for (const Consumer& consumer : program_.consumers[item.producer.value()]) {
      const bool through_here =
          !own(consumer.operation) && next_hop(message.from, consumer.operation) == id_;
      if (through_here && covers(item.carried, consumer.carried)) {
        add_item(passed[next_hop(id_, consumer.operation)], {item.producer, consumer.carried});
      }
    }
  }
  for (auto& [to, values] : passed) {
    send(to, std::move(values), 1, message.row.id);
  }
}

}  // namespace qfs
