#include "hardware/protocol/outages.hpp"

#include <algorithm>

namespace qfs {

Outages::Outages(const std::vector<InstanceFault>& faults, std::size_t instance) {
  std::vector<Stall> stalls;
  for (const InstanceFault& fault : faults) {
    if (fault.instance != instance) {
      continue;
    }
    const Femtoseconds at = to_femtoseconds(fault.at);
    if (fault.duration) {
      stalls.push_back({at, at + to_femtoseconds(*fault.duration)});
    } else {
      death_ = death_ ? std::min(*death_, at) : at;
    }
  }
  std::sort(stalls.begin(), stalls.end(),
            [](const Stall& a, const Stall& b) { return a.from < b.from; });
  for (const Stall& stall : stalls) {
    if (stalls_.empty() || stall.from > stalls_.back().to) {
      stalls_.push_back(stall);
    } else {
      stalls_.back().to = std::max(stalls_.back().to, stall.to);
    }
  }
}

Femtoseconds Outages::resumes(Femtoseconds time) const {
  for (const Stall& stall : stalls_) {
    if (stall.from <= time && time < stall.to) {
      return stall.to;
    }
  }
  return time;
}

Femtoseconds Outages::end_of_launch(Femtoseconds start, Femtoseconds end) const {
  for (const Stall& stall : stalls_) {
    if (stall.from >= start && stall.from < end) {
      end += stall.to - stall.from;
    }
  }
  return end;
}

}  // namespace qfs
