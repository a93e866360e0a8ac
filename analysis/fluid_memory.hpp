// One memory as a fluid: while m streams are in flight each moves at 1/m of the bandwidth, exactly.
//
// Bookkeeping: let S(t) be the bytes that a stream present since the memory was last idle would
// have moved. A stream that starts at s ends when S reaches S(s) + its bytes, whatever joins or
// leaves meanwhile, so each stream needs one mark, and the next to end is the one with the lowest
// (egalitarian processor sharing in virtual time).
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "base/units.hpp"

namespace qfs {

class FluidMemory {
 public:
  using Stream = std::size_t;

  explicit FluidMemory(BytesPerSecond bandwidth) : bandwidth_(bandwidth.value()) {}

  /// A stream starts; streams are numbered from 0 as they start. Times in seconds: `start` lies
  /// neither before the last start or end nor after the next end.
  Stream add(double start, Bytes bytes);
  /// When the next stream ends if none other starts first; unlimited if none is in flight.
  [[nodiscard]] double next_end() const;
  /// Ends that stream, if it ends by `time`.
  std::optional<Stream> take_end_by(double time);

 private:
  double bandwidth_;
  double now_ = 0;
  double served_ = 0;  // S(now_)
  std::size_t started_ = 0;
  std::multimap<double, Stream> in_flight_;  // by mark
};

}  // namespace qfs
