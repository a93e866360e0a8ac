// One memory as a fluid: while m streams are in flight each moves at 1/m of the bandwidth, exactly.
// The closed forms need it where an append runs beside other streams (full accounting).
//
// Bookkeeping: let S(t) be the bytes that a stream present since the memory was last idle would
// have moved. A stream that starts at s ends when S reaches S(s) + its bytes, whatever joins or
// leaves meanwhile, so each stream needs one mark, and the next to end is the one with the lowest
// (egalitarian processor sharing in virtual time).
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "base/units.hpp"

namespace qfs {

class FluidMemory {
 public:
  using Stream = std::size_t;

  explicit FluidMemory(BytesPerSecond bandwidth) : bandwidth_(bandwidth.value()) {}

  /// Times in seconds. `start` may not lie before any time that was asked about: what is known is
  /// not revised.
  Stream add(double start, Bytes bytes);
  /// When the stream ends. Every stream that starts before that end must have been added.
  double end(Stream stream);
  /// Whether it ends before `time`. Every stream that starts before `time` must have been added.
  bool ends_before(Stream stream, double time);

 private:
  struct Waiting {
    Stream stream;
    double bytes;
  };

  [[nodiscard]] double next_start() const;
  [[nodiscard]] double next_end() const;
  void advance();
  void take_start();
  void take_end();

  double bandwidth_;
  double now_ = 0;
  double served_ = 0;                        // S(now_)
  std::multimap<double, Waiting> waiting_;   // by start
  std::multimap<double, Stream> in_flight_;  // by mark
  std::vector<double> ends_;                 // by stream; unlimited: not known yet
};

}  // namespace qfs
