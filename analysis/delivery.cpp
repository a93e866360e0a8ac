#include "analysis/delivery.hpp"

namespace qfs {

AnalyticValue& Delivery::make(Device on, Bytes bytes) {
  values_.push_back({on, bytes, {}});
  return values_.back();
}

AnalyticValue& Delivery::make(Device on, Bytes bytes, Task task) {
  Value& value = make(on, bytes);
  value.there[on] = task;
  return value;
}

Delivery::Task Delivery::at(Value& value, Device device, Bytes bytes) {
  if (const auto found = value.there.find(device); found != value.there.end()) {
    return found->second;
  }
  const Device home = topology_.ranks.front().home();
  Device from = value.made_on;
  if (!topology_.port.contains({from, device})) {
    from = home;
    at(value, from);
  }
  if (device == home) {  // which merges, or passes on, what is not for its own shard
    bytes = value.bytes;
  }
  const Task message =
      schedule_.add_message(topology_.port.at({from, device}), bytes, {value.there.at(from)});
  value.there[device] = message;
  return message;
}

Delivery::Tasks Delivery::all_at(const std::vector<Value*>& values, Device device) {
  Tasks tasks;
  for (Value* value : values) {
    tasks.push_back(at(*value, device));
  }
  return tasks;
}

Delivery::Task Delivery::send_together(const std::vector<Value*>& values, Device to, Bytes bytes) {
  const Device from = values.front()->made_on;
  const Task message =
      schedule_.add_message(topology_.port.at({from, to}), bytes, all_at(values, from));
  for (Value* value : values) {
    value->there[to] = message;
  }
  return message;
}

Delivery::Task Delivery::send_together(const std::vector<Value*>& values, Device to) {
  Bytes bytes;
  for (const Value* value : values) {
    bytes += value->bytes;
  }
  return send_together(values, to, bytes);
}

}  // namespace qfs
