#include "hardware/device/program_places.hpp"

#include <algorithm>

namespace qfs {

ProgramPlaces::ProgramPlaces(const Program& program) {
  const std::size_t count = program.graph.operations.size();
  std::size_t devices = program.pool_instances;
  for (const DeviceId device : program.device_of) {
    devices = std::max(devices, device.value() + 1);
  }
  needed_.resize(devices);
  places_.reserve(count);
  for (OpId id{0}; id.value() < count; ++id) {
    Place& needed = needed_[program.device_of[id.value()].value()];
    places_.push_back(needed);
    ++needed.index;
    needed.first_slot += program.awaited_inputs[id.value()];
    if (program.awaited_inputs[id.value()] == 0) {
      first_.push_back(id);
    }
  }
  if (!program.calls.empty()) {
    std::fill_n(needed_.begin(), program.pool_instances, Place(needed_.front()));
  }
}

}  // namespace qfs
