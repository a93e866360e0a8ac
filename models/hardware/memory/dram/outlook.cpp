#include "hardware/memory/dram/outlook.hpp"

#include <algorithm>
#include <cmath>

namespace qfs::dram {
namespace {

constexpr double no_refresh = 1e18;     // ticks or bursts ahead
constexpr double looked_at = 32;        // intervals, each by itself; of more the mean is taken
constexpr double least_restarted = 32;  // bursts after a refresh before a leap may end

}  // namespace

Outlook::Outlook(const Rates &rates, const Standing &standing)
    : rates_(rates), standing_(standing), from_(position()) {
  foresee_closings();
  to_refresh_ = no_refresh;
  until_refresh_ = no_refresh;
  if (rates.interval > 0) {
    to_refresh_ = static_cast<double>(standing.next_refresh - standing.now);
    until_refresh_ = std::max(0.0, bursts_within(to_refresh_) - rates.lost_before);
  }
}

/// Where on the course the channel is: by the banks that are open, what it can have done since they
/// were closed; of a sequential stream, if that is known, by how often it will still come to banks
/// that are closed.
double Outlook::position() const {
  const double period = rates_.period;
  const std::vector<bool> &open = standing_.finds_open;
  if (!open.empty()) {
    const auto closed = std::find(open.rbegin(), open.rend(), false);
    const auto changes = static_cast<double>(open.rend() - closed);
    const double first = std::ceil(rates_.opened_after / period) - changes;
    return std::max(0.0, first) * period + phase_after(0);
  }
  double position = rates_.opened_after;
  if (!rates_.is_opened(standing_.banks_open)) {
    const auto at = std::find_if(rates_.open_at.begin(), rates_.open_at.end(),
                                 [this](double banks) { return banks >= standing_.banks_open; });
    const auto bursts =
        static_cast<double>((at - rates_.open_at.begin()) * static_cast<int>(Course::grain));
    position = std::min(position, bursts);
  }
  return period == 1 ? position : std::floor(position / period) * period + phase_after(0);
}

/// Rows that others have left open where the course comes to closed banks.
void Outlook::foresee_closings() {
  const double last = std::ceil(rates_.opened_after / rates_.period) * rates_.period;
  double change = rates_.period - phase_after(0);
  for (const bool is_open : standing_.finds_open) {
    if (is_open && from_ + change <= last) {
      closings_.push_back(change);
    }
    change += rates_.period;
  }
  if (!closings_.empty()) {
    const double without = rates_.course.ticks(last) - rates_.course.ticks(last - rates_.period);
    of_closing_ = std::max(0.0, rates_.course.slope() * rates_.period - without);
  }
}

/// Without refresh.
double Outlook::ticks_over(double bursts) const {
  const auto closings = std::ranges::lower_bound(closings_, bursts) - closings_.begin();
  return rates_.course.ticks(from_ + bursts) - rates_.course.ticks(from_) +
         static_cast<double>(closings) * of_closing_;
}

double Outlook::bursts_within(double ticks) const {
  const double start = rates_.course.ticks(from_) + ticks;
  double bursts = rates_.course.bursts(start) - from_;
  for (double lost = 0; const double change : closings_) {
    if (change >= bursts) {
      break;
    }
    lost += of_closing_;
    bursts = std::max(change, rates_.course.bursts(start - lost) - from_);
  }
  return bursts;
}

double Outlook::phase_after(double bursts) const {
  return rates_.period == 1 ? 0 : std::fmod(standing_.rank + std::max(0.0, bursts), rates_.period);
}

/// After the next refresh, the last interval that begins before so many bursts have been served and
/// before a tick.
Outlook::Interval Outlook::interval_before(double bursts, double tick) const {
  Interval interval{0, until_refresh_};
  while (interval.number < looked_at) {
    const double more = rates_.bursts_after_refresh(phase_after(interval.before));
    if (interval.before + more > bursts ||
        to_refresh_ + (interval.number + 1) * rates_.interval > tick) {
      return interval;
    }
    interval.before += more;
    ++interval.number;
  }
  const double mean = rates_.of_interval.mean;
  const double more = std::floor(std::min(
      (bursts - interval.before) / mean, (tick - to_refresh_) / rates_.interval - interval.number));
  return {interval.number + more, interval.before + more * mean};
}

double Outlook::bursts_until(Tick tick) const {
  const Course &course = rates_.course;
  const auto ahead = static_cast<double>(tick - standing_.now);
  if (ahead < to_refresh_) {
    return bursts_within(ahead);
  }
  const Interval interval = interval_before(no_refresh, ahead);
  const double phase = phase_after(interval.before);
  const double since = ahead - to_refresh_ - interval.number * rates_.interval;
  const double about = course.bursts_from(phase, since - rates_.restart(phase, 0));
  return interval.before +
         std::max(0.0, course.bursts_from(phase, since - rates_.restart(phase, about)));
}

Leap Outlook::leap_before_refresh(double bursts, bool to_the_end) const {
  const double ticks = ticks_over(bursts) - (to_the_end ? 0 : rates_.seam);
  const double to = static_cast<double>(standing_.now) + std::min(ticks, to_refresh_ - 1);
  // Rows that were open before stay so: if that is as many as ever, only the last ones count.
  const bool is_opened = rates_.is_opened(standing_.banks_open);
  return {static_cast<Tick>(to), bursts, false,
          is_opened ? 2 * standing_.settling : bursts_of_all_rows()};
}

/// The last so many leave all rows open that are ever open at once.
double Outlook::bursts_of_all_rows() const {
  return rates_.opened_after + (rates_.period == 1 ? 0 : rates_.period);
}

Leap Outlook::leap_over(double bursts, bool to_the_end) const {
  if (bursts < until_refresh_) {
    return leap_before_refresh(bursts, to_the_end);
  }
  const Interval interval = interval_before(bursts, no_refresh);
  const double phase = phase_after(interval.before);
  const double rest = bursts - interval.before;
  if (rest < (to_the_end ? 1 : least_restarted)) {
    const double less = std::floor(interval.before - 1);
    return interval.number == 0 ? leap_before_refresh(less, to_the_end)
                                : leap_over(less, to_the_end);
  }
  const double restart =
      rates_.restart(phase, rest) + (to_the_end ? 0 : rates_.apart - rates_.seam);
  const double ticks = restart + rates_.course.ticks_from(phase, rest);
  const double to = static_cast<double>(standing_.now) + to_refresh_ +
                    interval.number * rates_.interval + std::min(ticks, rates_.interval - 1);
  return {static_cast<Tick>(to), interval.before + rest, true,
          std::min(rest, bursts_of_all_rows())};
}

}  // namespace qfs::dram
