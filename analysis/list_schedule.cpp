#include "analysis/list_schedule.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace qfs {
namespace {

AnalyticCost bytes_alone(Bytes bytes) {
  AnalyticCost cost;
  cost.bytes = bytes;
  return cost;
}

}  // namespace

ListSchedule::Device ListSchedule::add_device(const AnalyticDevice& device) {
  devices_.push_back({device, FluidMemory(device.bandwidth)});
  return devices_.size() - 1;
}

ListSchedule::Port ListSchedule::add_port(Seconds message_overhead, BytesPerSecond bandwidth,
                                          Seconds latency) {
  ports_.push_back({message_overhead.value(), bandwidth, latency.value()});
  return ports_.size() - 1;
}

ListSchedule::Task ListSchedule::add(Node node, Tasks after) {
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  const Task task = nodes_.size();
  node.waits_for = after.size();
  nodes_.push_back(std::move(node));
  for (const Task earlier : after) {
    assert(earlier < task);
    nodes_[earlier].before.push_back(task);
  }
  return task;
}

ListSchedule::Task ListSchedule::add_operation(Device device, const AnalyticCost& cost,
                                               const Rank& rank, Tasks after) {
  return add({Node::Kind::operation, device, cost, rank}, std::move(after));
}

ListSchedule::Task ListSchedule::add_write(Device device, Bytes bytes, Tasks after) {
  return add({Node::Kind::write, device, bytes_alone(bytes), {}}, std::move(after));
}

ListSchedule::Task ListSchedule::add_message(Port port, Bytes bytes, Tasks after) {
  return add({Node::Kind::message, port, bytes_alone(bytes), {}}, std::move(after));
}

std::vector<double> ListSchedule::run() {
  ends_.assign(nodes_.size(), unlimited);
  for (Task task = 0; task < nodes_.size(); ++task) {
    if (nodes_[task].waits_for == 0) {
      make_ready(task);
    }
  }
  do {
    start_operations();
  } while (step());
  return ends_;
}

void ListSchedule::schedule(double time, What what, Task task) {
  events_.push({time, events_made_++, what, task});
}

void ListSchedule::make_ready(Task task) {
  Node& node = nodes_[task];
  node.ready = now_;
  switch (node.kind) {
    case Node::Kind::operation:
      devices_[node.place].ready.push_back(task);
      break;
    case Node::Kind::write:
      start_stream(task);
      break;
    case Node::Kind::message:
      send(task);
      break;
  }
}

void ListSchedule::start_stream(Task task) {
  DeviceState& device = devices_[nodes_[task].place];
  device.memory.add(now_, nodes_[task].cost.bytes);
  device.streams.push_back(task);
}

void ListSchedule::send(Task task) {
  const Node& node = nodes_[task];
  PortState& port = ports_[node.place];
  const double busy = port.overhead + (node.cost.bytes / port.bandwidth).value();
  port.free = std::max(now_, port.free) + busy;
  schedule(port.free + port.latency, What::done, task);
}

void ListSchedule::start_operations() {
  for (DeviceState& device : devices_) {
    if (!device.busy && !device.ready.empty()) {
      start_next(device);
    }
  }
}

void ListSchedule::start_next(DeviceState& device) {
  const auto key = [this](Task task) {
    const Node& node = nodes_[task];
    return std::tuple(!node.rank.awaited_elsewhere, node.ready, node.rank.order);
  };
  const auto next = std::min_element(device.ready.begin(), device.ready.end(),
                                     [&](Task a, Task b) { return key(a) < key(b); });
  const Task task = *next;
  device.ready.erase(next);
  device.busy = true;
  schedule(now_ + launch_time(nodes_[task].cost, device.device).value(), What::launched, task);
}

void ListSchedule::launch(Task task) {
  Node& node = nodes_[task];
  node.parts_left = 2;
  start_stream(task);
  schedule(now_ + arithmetic_time(node.cost, devices_[node.place].device).value(), What::part_done,
           task);
}

void ListSchedule::end_part(Task task) {
  Node& node = nodes_[task];
  if (node.kind == Node::Kind::operation && --node.parts_left > 0) {
    return;
  }
  if (node.kind == Node::Kind::operation) {
    devices_[node.place].busy = false;
  }
  end(task);
}

void ListSchedule::end(Task task) {
  ends_[task] = now_;
  for (const Task later : nodes_[task].before) {
    if (--nodes_[later].waits_for == 0) {
      make_ready(later);
    }
  }
}

void ListSchedule::handle(const Event& event) {
  switch (event.what) {
    case What::launched:
      return launch(event.task);
    case What::part_done:
      return end_part(event.task);
    case What::done:
      return end(event.task);
  }
}

/// Ends the streams that end now; whether there was one.
bool ListSchedule::settle_memories() {
  bool any = false;
  for (DeviceState& device : devices_) {
    while (const auto stream = device.memory.take_end_by(now_)) {
      end_part(device.streams[*stream]);
      any = true;
    }
  }
  return any;
}

/// All that happens at the next instant at which anything does, so that what becomes ready then
/// takes part in the choices; false if nothing is left.
bool ListSchedule::step() {
  double next = unlimited;
  if (!events_.empty()) {
    next = events_.top().time;
  }
  for (DeviceState& device : devices_) {
    next = std::min(next, device.memory.next_end());
  }
  if (next == unlimited) {
    return false;
  }
  now_ = next;
  do {
    while (!events_.empty() && events_.top().time <= now_) {
      const Event event = events_.top();
      events_.pop();
      handle(event);
    }
  } while (settle_memories() || (!events_.empty() && events_.top().time <= now_));
  return true;
}

}  // namespace qfs
