#include "hardware/memory/dram/course.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace qfs::dram {
namespace {

constexpr double least_rise = 1e-3;  // ticks: so that it has an inverse
constexpr auto grains = static_cast<double>(Course::grain);

}  // namespace

Course::Course(std::span<const Tick> issued) {
  assert(issued.size() >= 2 * grain);
  const std::size_t half = issued.size() / 2;
  slope_ = static_cast<double>(issued.back() - issued[half]) /
           static_cast<double>(issued.size() - 1 - half);
  slope_ = std::max(slope_, least_rise);
  at_.push_back(static_cast<double>(issued.front()) - slope_);
  for (std::size_t i = grain; i <= issued.size(); i += grain) {
    at_.push_back(std::max(static_cast<double>(issued[i - 1]), at_.back() + least_rise));
  }
}

Course::Course(std::span<const Tick> issued, std::size_t period) : Course(issued) {
  assert(period % grain == 0 && period >= grain && 2 * period <= issued.size());
  const std::size_t repeated = issued.size() / 2 / period * period;
  period_ = static_cast<double>(repeated);
  slope_ = (at_.back() - at_[at_.size() - 1 - repeated / grain]) / period_;
}

double Course::ticks(double bursts) const {
  if (const double over = bursts - (static_cast<double>(at_.size() - 1) * grains);
      over > 0 && period_ > 0) {
    const double back = std::ceil(over / period_) * period_;
    return ticks(bursts - back) + back * slope_;
  }
  const double where = bursts / grains;
  const std::size_t last = at_.size() - 1;
  if (where >= static_cast<double>(last)) {
    return at_[last] + (where - static_cast<double>(last)) * grains * slope_;
  }
  const auto i = static_cast<std::size_t>(std::max(0.0, where));
  return at_[i] + (where - static_cast<double>(i)) * (at_[i + 1] - at_[i]);
}

double Course::bursts(double ticks) const {
  if (const double over = ticks - at_.back(); over > 0 && period_ > 0) {
    const double back = std::ceil(over / (period_ * slope_)) * period_;
    return bursts(ticks - back * slope_) + back;
  }
  if (ticks <= at_.front()) {
    return 0;
  }
  if (ticks >= at_.back()) {
    return static_cast<double>(at_.size() - 1) * grains + (ticks - at_.back()) / slope_;
  }
  const auto above = std::upper_bound(at_.begin(), at_.end(), ticks);
  const auto i = static_cast<std::size_t>(above - at_.begin()) - 1;
  return grains * (static_cast<double>(i) + (ticks - at_[i]) / (at_[i + 1] - at_[i]));
}

}  // namespace qfs::dram
