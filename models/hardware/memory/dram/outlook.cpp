#include "hardware/memory/dram/outlook.hpp"

#include <algorithm>
#include <cmath>

namespace qfs::dram {
namespace {

constexpr double no_refresh = 1e18;     // ticks or bursts ahead
constexpr double least_restarted = 32;  // bursts after a refresh before a leap may end

}  // namespace

Outlook::Outlook(const Rates& rates, const Standing& standing)
    : rates_(rates), standing_(standing), from_(position()) {
  to_refresh_ = no_refresh;
  until_refresh_ = no_refresh;
  if (rates.interval > 0) {
    const Course& course = rates.course;
    to_refresh_ = static_cast<double>(standing.next_refresh - standing.now);
    until_refresh_ = course.bursts(course.ticks(from_) + to_refresh_) - from_ - rates.lost_before;
  }
}

/// Where on the course the channel is: by the banks that are open, what it can have done since they
/// were closed; of a sequential stream at the right place in its rows.
double Outlook::position() const {
  double position = rates_.opened_after;
  if (!rates_.is_opened(standing_.banks_open)) {
    const auto at = std::find_if(rates_.open_at.begin(), rates_.open_at.end(),
                                 [this](double banks) { return banks >= standing_.banks_open; });
    const auto bursts =
        static_cast<double>((at - rates_.open_at.begin()) * static_cast<int>(Course::grain));
    position = std::min(position, bursts);
  }
  if (rates_.period == 1) {
    return position;
  }
  return std::floor(position / rates_.period) * rates_.period + phase_after(0);
}

double Outlook::phase_after(double bursts) const {
  return rates_.period == 1 ? 0 : std::fmod(standing_.rank + std::max(0.0, bursts), rates_.period);
}

double Outlook::bursts_until(Tick tick) const {
  const Course& course = rates_.course;
  const auto ahead = static_cast<double>(tick - standing_.now);
  if (ahead < to_refresh_) {
    return course.bursts(course.ticks(from_) + ahead) - from_;
  }
  const double intervals = std::floor((ahead - to_refresh_) / rates_.interval);
  const double before = until_refresh_ + intervals * rates_.of_interval;
  const double phase = phase_after(before);
  const double since_start =
      ahead - to_refresh_ - intervals * rates_.interval - rates_.restart(phase);
  return before + std::max(0.0, course.bursts_from(phase, since_start));
}

Leap Outlook::leap_before_refresh(double bursts) const {
  const Course& course = rates_.course;
  const double ticks = course.ticks(from_ + bursts) - course.ticks(from_) - rates_.seam;
  const double to = static_cast<double>(standing_.now) + std::min(ticks, to_refresh_ - 1);
  // Rows that were open before stay so: if that is as many as ever, only the last ones count.
  const bool is_opened = rates_.is_opened(standing_.banks_open);
  return {static_cast<Tick>(to), bursts, false,
          is_opened ? 2 * standing_.settling : rates_.opened_after};
}

Leap Outlook::leap_over(double bursts) const {
  if (bursts < until_refresh_) {
    return leap_before_refresh(bursts);
  }
  const double intervals = std::floor((bursts - until_refresh_) / rates_.of_interval);
  const double before = until_refresh_ + intervals * rates_.of_interval;
  const double phase = phase_after(before);
  const double restart = rates_.restart(phase) + rates_.apart - rates_.seam;
  // Not beyond the next refresh, before which an interval may serve less than one does on average.
  const double most = rates_.course.bursts_from(phase, rates_.interval - restart - 1);
  const double rest = std::min(bursts - before, std::floor(most));
  if (rest < least_restarted) {
    return intervals == 0 ? leap_before_refresh(std::floor(before - 1))
                          : leap_over(std::floor(before - 1));
  }
  const double to = static_cast<double>(standing_.now) + to_refresh_ + intervals * rates_.interval +
                    restart + rates_.course.ticks_from(phase, rest);
  return {static_cast<Tick>(to), before + rest, true, std::min(rest, rates_.opened_after)};
}

}  // namespace qfs::dram
