#include "analysis/fluid_memory.hpp"

#include <algorithm>
#include <cassert>

namespace qfs {

FluidMemory::Stream FluidMemory::add(double start, Bytes bytes) {
  assert(start >= now_);
  const Stream stream = ends_.size();
  ends_.push_back(unlimited);
  waiting_.insert({start, Waiting{stream, static_cast<double>(bytes.value())}});
  return stream;
}

double FluidMemory::end(Stream stream) {
  while (ends_[stream] == unlimited && !(waiting_.empty() && in_flight_.empty())) {
    advance();
  }
  return ends_[stream];
}

bool FluidMemory::ends_before(Stream stream, double time) {
  while (std::min(next_start(), next_end()) < time) {
    advance();
  }
  return ends_[stream] < time;
}

double FluidMemory::next_start() const {
  if (waiting_.empty()) {
    return unlimited;
  }
  return waiting_.begin()->first;
}

double FluidMemory::next_end() const {
  if (in_flight_.empty()) {
    return unlimited;
  }
  const double bytes_each = in_flight_.begin()->first - served_;
  return now_ + bytes_each * static_cast<double>(in_flight_.size()) / bandwidth_;
}

// An end goes before a start at the same time: with unlimited bandwidth streams never meet.
void FluidMemory::advance() {
  if (next_end() <= next_start()) {
    take_end();
  } else {
    take_start();
  }
}

void FluidMemory::take_start() {
  const double start = next_start();
  if (!in_flight_.empty()) {
    const double bytes_each = (start - now_) * bandwidth_ / static_cast<double>(in_flight_.size());
    served_ = std::min(served_ + bytes_each, in_flight_.begin()->first);
  }
  const Waiting& waiting = waiting_.begin()->second;
  in_flight_.insert({served_ + waiting.bytes, waiting.stream});
  waiting_.erase(waiting_.begin());
  now_ = start;
}

void FluidMemory::take_end() {
  now_ = next_end();
  const auto first = in_flight_.begin();
  served_ = first->first;
  ends_[first->second] = now_;
  in_flight_.erase(first);
  if (in_flight_.empty()) {
    served_ = 0;  // keeps the marks small, so that a lone stream takes exactly bytes / bandwidth
  }
}

}  // namespace qfs
