// Forward-mode automatic derivatives for tests: a value and its derivative by one chosen input.
// The operators are those that a softmax needs; `stop` is the stop-gradient. The same for double,
// so that a formula is written once for both.
#pragma once

#include <cmath>

namespace qfs::test {

struct Dual {
  double value = 0;
  double dot = 0;
};

inline Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.dot + b.dot}; }
inline Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.dot - b.dot}; }
inline Dual operator*(Dual a, Dual b) {
  return {a.value * b.value, a.dot * b.value + a.value * b.dot};
}
inline Dual operator/(Dual a, Dual b) {
  const double quotient = a.value / b.value;
  return {quotient, (a.dot - quotient * b.dot) / b.value};
}

inline Dual exp(Dual a) { return {std::exp(a.value), std::exp(a.value) * a.dot}; }
inline double exp(double a) { return std::exp(a); }

inline double value_of(Dual a) { return a.value; }
inline double value_of(double a) { return a; }

template <class T>
T stop(T a) {
  return T{value_of(a)};
}

}  // namespace qfs::test
