// What becomes of a mix of streams from here on, by its rates.
#pragma once

#include "hardware/memory/dram/stream_rates.hpp"

namespace qfs::dram {

/// Where a channel stands; times are ticks.
struct Standing {
  Tick now = 0;
  Tick next_refresh = never;  // of all banks
  double banks_open = 0;
  double rank = 0;      // of a sequential stream: that of its first burst not yet served
  double settling = 0;  // bursts
};

class Outlook {
 public:
  Outlook(const Rates& rates, const Standing& standing);

  /// Bursts that will have been served.
  [[nodiscard]] double bursts_until(Tick tick) const;
  /// Over that many bursts, or a few less where these would end while a refresh is under way.
  [[nodiscard]] Leap leap_over(double bursts) const;

 private:
  [[nodiscard]] double position() const;
  [[nodiscard]] double phase_after(double bursts) const;
  [[nodiscard]] Leap leap_before_refresh(double bursts) const;

  const Rates& rates_;
  Standing standing_;
  double from_ = 0;           // on the course
  double to_refresh_ = 0;     // ticks
  double until_refresh_ = 0;  // bursts
};

}  // namespace qfs::dram
