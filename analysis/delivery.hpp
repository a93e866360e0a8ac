// What operations make, and the messages that take it to the devices that read it.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "analysis/list_schedule.hpp"
#include "analysis/topology.hpp"
#include "base/units.hpp"

namespace qfs {

/// What an operation makes, of the whole wave.
struct AnalyticValue {
  Topology::Device made_on;
  Bytes bytes;                                           // of the message that takes it elsewhere
  std::map<Topology::Device, ListSchedule::Task> there;  // after which task a device has it
};

/// Sends on demand: a message leaves when its value is made, however late it is asked for here, and
/// only once to a device. Those of one value leave in the order in which they were asked for.
class Delivery {
 public:
  using Device = Topology::Device;
  using Task = ListSchedule::Task;
  using Tasks = ListSchedule::Tasks;
  using Value = AnalyticValue;

  /// Both must outlive it.
  Delivery(ListSchedule& schedule, const Topology& topology)
      : schedule_(schedule), topology_(topology) {}

  /// Valid as long as this; so far nowhere, or on the device after that task.
  Value& make(Device on, Bytes bytes);
  Value& make(Device on, Bytes bytes, Task task);

  /// After which task the device has the value, and how many bytes it takes there if not all. What
  /// has no port to there goes through the request's home.
  Task at(Value& value, Device device) { return at(value, device, value.bytes); }
  Task at(Value& value, Device device, Bytes bytes);
  Tasks all_at(const std::vector<Value*>& values, Device device);

  /// One message of several values from the device that has made them, as soon as all are.
  Task send_together(const std::vector<Value*>& values, Device to, Bytes bytes);
  Task send_together(const std::vector<Value*>& values, Device to);

 private:
  ListSchedule& schedule_;
  const Topology& topology_;
  std::deque<Value> values_;  // which stay where they are
};

}  // namespace qfs
