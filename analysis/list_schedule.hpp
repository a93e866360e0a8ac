// The times of tasks on devices and links, in double seconds: list scheduling by the rule of
// DESIGN.md 5 and the costs of DESIGN.md 6. The twin of the simulator where no formula is short;
// it shares no code with it.
#pragma once

#include <cstddef>
#include <queue>
#include <utility>
#include <vector>

#include "analysis/fluid_memory.hpp"
#include "analysis/operation_costs.hpp"
#include "analysis/parameters.hpp"

namespace qfs {

class ListSchedule {
 public:
  using Device = std::size_t;
  using Port = std::size_t;
  using Task = std::size_t;
  using Tasks = std::vector<Task>;

  /// Among operations that are ready: those whose result another device awaits in this step, then
  /// the one ready the longest, then the least order.
  struct Turn {
    std::size_t step = 0;
    std::size_t order = 0;
  };
  struct Node {
    enum class Kind { operation, instant, write, message } kind;
    std::size_t place;  // device or port
    AnalyticCost cost;  // bytes alone of a write and of a message
    Turn turn;
    Tasks after = {};
    Tasks before = {};
    bool awaited_elsewhere = false;
    std::size_t waits_for = 0;
    std::size_t parts_left = 0;  // of an operation in execution: stream, arithmetic
    double ready = 0;
  };

  Device add_device(const AnalyticDevice& device);
  /// One direction of a link: first in, first out.
  Port add_port(Seconds message_overhead, BytesPerSecond bandwidth, Seconds latency);

  /// One at a time on the device's executor: launches, then its memory stream beside its
  /// arithmetic.
  Task add_operation(Device device, const AnalyticCost& cost, const Turn& turn, Tasks after);
  /// What takes no time and no executor: it has happened when what it waits for has.
  Task add_instant(Device device, const Turn& turn, Tasks after);
  /// A stream of the device's memory without the executor.
  Task add_write(Device device, Bytes bytes, std::size_t step, Tasks after);
  /// Belongs to the step of what it waits for: at least one task.
  Task add_message(Port port, Bytes bytes, Tasks after);

  /// Every task's end, by task. Tasks wait for earlier tasks only.
  std::vector<double> run();
  /// By task; `after` and `before` are the graph.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }

 private:
  struct DeviceState {
    AnalyticDevice device;
    FluidMemory memory;
    Tasks streams = {};  // by the memory's stream: whose it is
    Tasks ready = {};
    bool busy = false;
  };
  struct PortState {
    double overhead;
    BytesPerSecond bandwidth;
    double latency;
    double free = 0;
  };
  enum class What { launched, part_done, done };
  struct Event {
    double time;
    std::size_t number;  // events of one time in the order in which they were made
    What what;
    Task task;
    bool operator>(const Event& other) const {
      return std::pair(time, number) > std::pair(other.time, other.number);
    }
  };

  Task add(Node node);
  [[nodiscard]] bool read_elsewhere(Task task, Device device, std::size_t step) const;
  void schedule(double time, What what, Task task);
  void make_ready(Task task);
  void start_stream(Task task);
  void send(Task task);
  void start_operations();
  void start_next(DeviceState& device);
  void launch(Task task);
  void end_part(Task task);
  void end(Task task);
  void handle(const Event& event);
  bool step();
  bool settle_events();
  bool settle_memories();

  std::vector<Node> nodes_;
  std::vector<DeviceState> devices_;
  std::vector<PortState> ports_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<double> ends_;
  double now_ = 0;
  double instant_ = 0;  // the first of the times that rounding alone tells from now_
  std::size_t events_made_ = 0;
};

}  // namespace qfs
