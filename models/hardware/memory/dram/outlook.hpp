// What becomes of a mix of streams from here on, by its rates.
#pragma once

#include <vector>

#include "hardware/memory/dram/stream_rates.hpp"

namespace qfs::dram {

/// Where a channel stands; times are ticks.
struct Standing {
  Tick now = 0;
  Tick next_refresh = never;  // of all banks
  double banks_open = 0;
  double rank = 0;      // of a sequential stream: that of its first burst not yet served
  double settling = 0;  // bursts
  /// Whether a sequential stream finds rows open, that it has to close, at its next changes of
  /// rows, through all banks.
  std::vector<bool> finds_open = {};
};

class Outlook {
 public:
  Outlook(const Rates& rates, const Standing& standing);

  /// Bursts that will have been served.
  [[nodiscard]] double bursts_until(Tick tick) const;
  /// Over that many bursts, or a few less where these would end while a refresh is under way.
  /// Of a leap that ends in the middle of a transaction, or, `to_the_end`, where little or nothing
  /// is left of it: then a leap costs nothing and may end at any burst.
  [[nodiscard]] Leap leap_over(double bursts, bool to_the_end = false) const;

 private:
  /// From one refresh to the next.
  struct Interval {
    double number = 0;
    double before = 0;  // bursts
  };
  [[nodiscard]] Interval interval_before(double bursts, double tick) const;
  [[nodiscard]] double position() const;
  void foresee_closings();
  [[nodiscard]] double ticks_over(double bursts) const;
  [[nodiscard]] double bursts_within(double ticks) const;
  [[nodiscard]] double bursts_of_all_rows() const;
  [[nodiscard]] double phase_after(double bursts) const;
  [[nodiscard]] Leap leap_before_refresh(double bursts, bool to_the_end) const;

  const Rates& rates_;
  Standing standing_;
  double from_ = 0;               // on the course
  std::vector<double> closings_;  // of rows that the course does not have: after so many bursts
  double of_closing_ = 0;         // ticks
  double to_refresh_ = 0;         // ticks
  double until_refresh_ = 0;      // bursts
};

}  // namespace qfs::dram
