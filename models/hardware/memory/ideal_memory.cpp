#include "hardware/memory/ideal_memory.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/simulated_time.hpp"

namespace qfs {

IdealMemory::IdealMemory(sc_core::sc_module_name name, BytesPerSecond bandwidth)
    : sc_module(name), bytes_per_femtosecond_(bandwidth.value() / femtoseconds_per_second) {
  SC_HAS_PROCESS(IdealMemory);
  SC_METHOD(complete_due);
  sensitive << ev_due_;
  dont_initialize();
}

double IdealMemory::share_per_femtosecond() const {
  return bytes_per_femtosecond_ / static_cast<double>(in_flight_.size());
}

void IdealMemory::advance() {
  const Femtoseconds time = now();
  if (in_flight_.empty()) {
    served_ = 0;
  } else {
    served_ += static_cast<double>((time - last_).value()) * share_per_femtosecond();
  }
  last_ = time;
}

std::shared_ptr<Transfer> IdealMemory::start(std::span<const Stream> streams) {
  auto transfer = std::make_shared<Transfer>();
  const Bytes length = length_of(streams);
  if (length == Bytes(0) || std::isinf(bytes_per_femtosecond_)) {
    transfer->finished = true;
    return transfer;
  }
  advance();
  in_flight_.emplace(served_ + static_cast<double>(length.value()), transfer);
  reschedule();
  return transfer;
}

void IdealMemory::reschedule() {
  ev_due_.cancel();
  if (in_flight_.empty()) {
    return;
  }
  const double left = std::max(0.0, in_flight_.begin()->first - served_);
  ev_due_.notify(to_sc_time(Femtoseconds(std::llround(left / share_per_femtosecond()))));
}

void IdealMemory::complete_due() {
  advance();
  // The event fell on the femtosecond nearest to the end of the first stream; so do all that end
  // within half of one.
  const double due = std::max(served_ + share_per_femtosecond() / 2, in_flight_.begin()->first);
  const auto last = in_flight_.upper_bound(due);
  for (auto it = in_flight_.begin(); it != last; ++it) {
    it->second->finish();
  }
  in_flight_.erase(in_flight_.begin(), last);
  reschedule();
}

}  // namespace qfs
