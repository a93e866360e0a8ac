#include "base/units.hpp"

#include <type_traits>

#include "tests/support/catch.hpp"

using namespace qfs;

namespace {

template <class A, class B>
constexpr bool can_add = requires(A a, B b) {
  a + b;
};
template <class A, class B>
constexpr bool can_divide = requires(A a, B b) {
  a / b;
};

// A unit is worth having only if nothing slips in or out of it.
static_assert(!std::is_convertible_v<int, Bytes>);
static_assert(!std::is_convertible_v<double, Seconds>);
static_assert(!std::is_convertible_v<Bytes, std::int64_t>);
static_assert(!std::is_convertible_v<Seconds, double>);
static_assert(!std::is_constructible_v<Bytes, Macs>);
static_assert(!std::is_constructible_v<Macs, Bytes>);
static_assert(!std::is_constructible_v<Seconds, Femtoseconds>);
static_assert(!std::is_constructible_v<Femtoseconds, Seconds>);
static_assert(!std::is_constructible_v<MacsPerSecond, FlopsPerSecond>);
static_assert(!std::is_assignable_v<Bytes&, int>);
static_assert(std::is_constructible_v<Bytes, std::int64_t>);

static_assert(can_add<Bytes, Bytes>);
static_assert(!can_add<Bytes, Macs>);
static_assert(!can_add<Bytes, int>);
static_assert(!can_add<Seconds, Femtoseconds>);
static_assert(can_divide<Bytes, BytesPerSecond>);
static_assert(!can_divide<Bytes, MacsPerSecond>);
static_assert(!can_divide<Macs, BytesPerSecond>);

}  // namespace

TEST_CASE("quantities add, subtract, scale and compare") {
  Bytes bytes(10);
  bytes += Bytes(5);
  bytes -= Bytes(1);
  CHECK(bytes == Bytes(14));
  CHECK(bytes + Bytes(1) == Bytes(15));
  CHECK(bytes - Bytes(20) == Bytes(-6));
  CHECK(bytes * 3 == Bytes(42));
  CHECK(3 * bytes == Bytes(42));
  CHECK(Bytes(1) < Bytes(2));
  CHECK(Bytes() == Bytes(0));
}

TEST_CASE("an amount over a rate is a time") {
  CHECK(Bytes(4'000'000) / BytesPerSecond(1e12) == Seconds(4e-6));
  CHECK(Macs(500) / MacsPerSecond(1e3) == Seconds(0.5));
  CHECK(Exps(30) / ExpsPerSecond(10) == Seconds(3));
  CHECK(Bytes(0) / BytesPerSecond(1e12) == Seconds(0));
  CHECK(Bytes(1'000'000) / BytesPerSecond(unlimited) == Seconds(0));
  CHECK(Bytes(0) / BytesPerSecond(unlimited) == Seconds(0));
  CHECK(to_macs(FlopsPerSecond(2e12)) == MacsPerSecond(1e12));
}

TEST_CASE("times round to the nearest femtosecond") {
  CHECK(to_femtoseconds(Seconds(1e-15)) == Femtoseconds(1));
  CHECK(to_femtoseconds(Seconds(1.4e-15)) == Femtoseconds(1));
  CHECK(to_femtoseconds(Seconds(1.6e-15)) == Femtoseconds(2));
  CHECK(to_femtoseconds(Seconds(0.4e-15)) == Femtoseconds(0));
  CHECK(to_femtoseconds(Seconds(-1.6e-15)) == Femtoseconds(-2));
  CHECK(to_femtoseconds(Seconds(0)) == Femtoseconds(0));
  CHECK(to_femtoseconds(Seconds(3600)) == Femtoseconds(3'600'000'000'000'000'000));
  // One cycle of 2.6 GHz, which a clock of picoseconds would miss by 1000 ppm.
  CHECK(to_femtoseconds(Seconds(1 / 2.6e9)) == Femtoseconds(384'615));
}

TEST_CASE("times convert back and to microseconds") {
  CHECK(to_seconds(Femtoseconds(2'500'000'000)) == Seconds(2.5e-6));
  CHECK(to_microseconds(Femtoseconds(2'500'000'000)) == 2.5);
  CHECK(to_microseconds(Seconds(0.5)) == 500'000);
  const Femtoseconds odd(123'456'789'012'345);
  CHECK(to_femtoseconds(to_seconds(odd)) == odd);
}
