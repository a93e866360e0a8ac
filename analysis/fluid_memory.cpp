#include "analysis/fluid_memory.hpp"

#include <algorithm>
#include <cassert>

namespace qfs {

FluidMemory::Stream FluidMemory::add(double start, Bytes bytes) {
  assert(start >= now_);
  if (!in_flight_.empty() && start > now_) {
    const double bytes_each = (start - now_) * bandwidth_ / static_cast<double>(in_flight_.size());
    served_ = std::min(served_ + bytes_each, in_flight_.begin()->first);
  }
  now_ = start;
  in_flight_.insert({served_ + static_cast<double>(bytes.value()), started_});
  return started_++;
}

double FluidMemory::next_end() const {
  if (in_flight_.empty()) {
    return unlimited;
  }
  const double bytes_each = in_flight_.begin()->first - served_;
  return now_ + bytes_each * static_cast<double>(in_flight_.size()) / bandwidth_;
}

std::optional<FluidMemory::Stream> FluidMemory::take_end_by(double time) {
  const double end = next_end();
  if (end == unlimited || end > time) {
    return std::nullopt;
  }
  now_ = end;
  const auto first = in_flight_.begin();
  const Stream stream = first->second;
  served_ = first->first;
  in_flight_.erase(first);
  if (in_flight_.empty()) {
    served_ = 0;  // keeps the marks small, so that a lone stream takes exactly bytes / bandwidth
  }
  return stream;
}

}  // namespace qfs
