#include "analysis/list_schedule.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace qfs {
namespace {

/// Times up to this factor later are one instant: sums of the same terms in another order.
constexpr double simultaneous = 1.0 + 1e-13;

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

ListSchedule::Task ListSchedule::add(Node node) {
  std::sort(node.after.begin(), node.after.end());
  node.after.erase(std::unique(node.after.begin(), node.after.end()), node.after.end());
  node.waits_for = node.after.size();
  const Task task = nodes_.size();
  for (const Task earlier : node.after) {
    assert(earlier < task);
    nodes_[earlier].before.push_back(task);
  }
  nodes_.push_back(std::move(node));
  return task;
}

ListSchedule::Task ListSchedule::add_operation(Device device, const AnalyticCost& cost,
                                               const Turn& turn, Tasks after) {
  return add({Node::Kind::operation, device, cost, turn, std::move(after)});
}

ListSchedule::Task ListSchedule::add_instant(Device device, const Turn& turn, Tasks after) {
  return add({Node::Kind::instant, device, {}, turn, std::move(after)});
}

ListSchedule::Task ListSchedule::add_write(Device device, Bytes bytes, std::size_t step,
                                           Tasks after) {
  return add({Node::Kind::write, device, bytes_alone(bytes), {step, 0}, std::move(after)});
}

ListSchedule::Task ListSchedule::add_message(Port port, Bytes bytes, Tasks after) {
  assert(!after.empty());
  const std::size_t step = nodes_[after.front()].turn.step;
  return add({Node::Kind::message, port, bytes_alone(bytes), {step, 0}, std::move(after)});
}

/// Whether an operation on another device reads, in that step, what the task hands on. A write
/// counts if something in the step waits for it.
bool ListSchedule::read_elsewhere(Task task, Device device, std::size_t step) const {
  const auto in_step = [&](Task later) { return nodes_[later].turn.step == step; };
  const auto reads = [&](Task later) {
    const Node& node = nodes_[later];
    switch (node.kind) {
      case Node::Kind::message:
        return read_elsewhere(later, device, step);
      case Node::Kind::operation:
      case Node::Kind::instant:
        return node.place != device && in_step(later);
      case Node::Kind::write:
        return node.place != device && std::any_of(node.before.begin(), node.before.end(), in_step);
    }
    return false;
  };
  const Tasks& before = nodes_[task].before;
  return std::any_of(before.begin(), before.end(), reads);
}

std::vector<double> ListSchedule::run() {
  ends_.assign(nodes_.size(), unlimited);
  Tasks first;
  for (Task task = 0; task < nodes_.size(); ++task) {
    Node& node = nodes_[task];
    node.awaited_elsewhere =
        node.kind == Node::Kind::operation && read_elsewhere(task, node.place, node.turn.step);
    if (node.waits_for == 0) {
      first.push_back(task);
    }
  }
  for (const Task task : first) {
    make_ready(task);
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
  node.ready = instant_;
  switch (node.kind) {
    case Node::Kind::operation:
      devices_[node.place].ready.push_back(task);
      break;
    case Node::Kind::instant:
      end(task);
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
  const Node& node = nodes_[task];
  const bool operation = node.kind == Node::Kind::operation;
  device.memory.add(now_, operation ? streamed(node.cost, device.device) : node.cost.bytes);
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
    return std::tuple(!node.awaited_elsewhere, node.ready, node.turn.order);
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

/// Handles what happens in this instant; whether there was anything.
bool ListSchedule::settle_events() {
  bool any = false;
  while (!events_.empty() && events_.top().time <= instant_ * simultaneous) {
    const Event event = events_.top();
    events_.pop();
    now_ = std::max(now_, event.time);
    handle(event);
    any = true;
  }
  return any;
}

/// Ends the streams that end in this instant; whether there was one.
bool ListSchedule::settle_memories() {
  bool any = false;
  for (DeviceState& device : devices_) {
    double end = device.memory.next_end();
    while (const auto stream = device.memory.take_end_by(instant_ * simultaneous)) {
      now_ = std::max(now_, end);
      end_part(device.streams[*stream]);
      end = device.memory.next_end();
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
  for (const DeviceState& device : devices_) {
    next = std::min(next, device.memory.next_end());
  }
  if (next == unlimited) {
    return false;
  }
  if (next > instant_ * simultaneous) {
    instant_ = next;
  }
  bool any = true;
  while (any) {
    any = settle_events();
    any = settle_memories() || any;
  }
  return true;
}

}  // namespace qfs
