// Quantities with their unit in the type. Every conversion is explicit, in both directions.
// Prefixes: kilo, mega, giga are powers of 1000; Ki, Mi, Gi powers of 1024 (never mixed).
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace qfs {

/// A number of one unit. Same-unit sums and scaling by a plain number; anything else is spelled
/// out.
template <class Unit, class Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) {
    return Quantity(a.value_ * factor);
  }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return a * factor; }

 private:
  Rep value_{};
};

using Bytes = Quantity<struct BytesUnit, std::int64_t>;
using Macs = Quantity<struct MacsUnit, std::int64_t>;
using Exps = Quantity<struct ExpsUnit, std::int64_t>;
using Seconds = Quantity<struct SecondsUnit, double>;
/// The clock of every simulated time: integer femtoseconds, so that sums are exact.
using Femtoseconds = Quantity<struct FemtosecondsUnit, std::int64_t>;
using BytesPerSecond = Quantity<struct BytesPerSecondUnit, double>;
using MacsPerSecond = Quantity<struct MacsPerSecondUnit, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondUnit, double>;
using ExpsPerSecond = Quantity<struct ExpsPerSecondUnit, double>;

inline constexpr double unlimited = std::numeric_limits<double>::infinity();
inline constexpr double femtoseconds_per_second = 1e15;

/// An unlimited rate takes no time; nothing takes no time at any rate.
constexpr Seconds operator/(Bytes bytes, BytesPerSecond rate) {
  return Seconds(static_cast<double>(bytes.value()) / rate.value());
}
constexpr Seconds operator/(Macs macs, MacsPerSecond rate) {
  return Seconds(static_cast<double>(macs.value()) / rate.value());
}
constexpr Seconds operator/(Exps exps, ExpsPerSecond rate) {
  return Seconds(static_cast<double>(exps.value()) / rate.value());
}

/// One multiply-accumulate counts as two floating-point operations.
constexpr MacsPerSecond to_macs(FlopsPerSecond rate) { return MacsPerSecond(rate.value() / 2); }

/// Rounded to the nearest femtosecond.
inline Femtoseconds to_femtoseconds(Seconds time) {
  return Femtoseconds(std::llround(time.value() * femtoseconds_per_second));
}
constexpr Seconds to_seconds(Femtoseconds time) {
  return Seconds(static_cast<double>(time.value()) / femtoseconds_per_second);
}
constexpr double to_microseconds(Seconds time) { return time.value() * 1e6; }
constexpr double to_microseconds(Femtoseconds time) {
  return static_cast<double>(time.value()) / 1e9;
}

}  // namespace qfs
