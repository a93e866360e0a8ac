#include <vector>

#include "analysis/list_schedule.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

/// Whose operations of one launch take that long.
AnalyticDevice taking(double seconds) {
  AnalyticDevice device;
  device.launch_overhead = Seconds(seconds);
  return device;
}

constexpr AnalyticCost one_launch{1, Bytes(0), Macs(0), Exps(0)};

}  // namespace

TEST_CASE("times that rounding alone tells apart are one instant") {
  ListSchedule schedule;
  const auto a = schedule.add_device(taking(0.1));
  const auto b = schedule.add_device(taking(0.2));
  const auto c = schedule.add_device(taking(0.3));
  const auto last = schedule.add_device(taking(1));
  const auto first_part = schedule.add_operation(a, one_launch, {0, 0}, {});
  const auto sum = schedule.add_operation(b, one_launch, {0, 0}, {first_part});
  const auto whole = schedule.add_operation(c, one_launch, {0, 0}, {});
  const auto low = schedule.add_operation(last, one_launch, {0, 1}, {sum});
  const auto high = schedule.add_operation(last, one_launch, {0, 2}, {whole});
  const std::vector<double> ends = schedule.run();
  REQUIRE(0.1 + 0.2 > 0.3);
  CHECK(ends[low] == Approx(1.3).epsilon(1e-12));
  CHECK(ends[high] == Approx(2.3).epsilon(1e-12));
}

TEST_CASE("what another device awaits in this step goes first, whatever takes it there") {
  const auto awaited_first = [](const auto& add_reader) {
    ListSchedule schedule;
    const auto here = schedule.add_device(taking(1));
    const auto there = schedule.add_device(taking(1));
    const auto port = schedule.add_port(Seconds(0), BytesPerSecond(1), Seconds(0));
    schedule.add_operation(here, one_launch, {0, 0}, {});
    const auto task = schedule.add_operation(here, one_launch, {0, 1}, {});
    add_reader(schedule, here, there, schedule.add_message(port, Bytes(0), {task}));
    return schedule.run()[task] == 1;
  };
  using S = ListSchedule;
  CHECK(awaited_first([](S& s, S::Device, S::Device there, S::Task message) {
    s.add_operation(there, one_launch, {0, 2}, {message});
  }));
  CHECK_FALSE(awaited_first([](S& s, S::Device, S::Device there, S::Task message) {
    s.add_operation(there, one_launch, {1, 2}, {message});  // the next step
  }));
  CHECK_FALSE(awaited_first([](S& s, S::Device here, S::Device, S::Task message) {
    s.add_operation(here, one_launch, {0, 2}, {message});
  }));
  CHECK_FALSE(awaited_first([](S& s, S::Device, S::Device there, S::Task message) {
    const auto write = s.add_write(there, Bytes(0), 0, {message});
    s.add_operation(there, one_launch, {1, 2}, {write});
  }));
  CHECK(awaited_first([](S& s, S::Device, S::Device there, S::Task message) {
    const auto write = s.add_write(there, Bytes(0), 0, {message});
    s.add_operation(there, one_launch, {0, 2}, {write});
  }));
  CHECK(awaited_first([](S& s, S::Device, S::Device there, S::Task message) {
    const auto onward = s.add_port(Seconds(0), BytesPerSecond(1), Seconds(0));
    const auto forwarded = s.add_message(onward, Bytes(0), {message});
    s.add_operation(there, one_launch, {0, 2}, {forwarded});
  }));
}

}  // namespace qfs
