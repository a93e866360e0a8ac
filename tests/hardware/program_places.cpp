// Who waits for what, and where devices keep their operations and inputs.
#include "hardware/device/program_places.hpp"

#include <set>
#include <vector>

#include "tests/support/catch.hpp"

namespace qfs {
namespace {

/// Operations 0, 2, 4, ... on device 0, the others on device 1; each waits for all before it.
Program alternating(std::size_t operations) {
  Program program;
  std::vector<Wait> waits;
  for (std::size_t i = 0; i < operations; ++i) {
    program.graph.operations.emplace_back();
    program.device_of.emplace_back(i % 2);
    program.awaited_inputs.push_back(static_cast<std::uint32_t>(i));
    for (std::size_t before = i; before-- > 0;) {
      waits.push_back({OpId(before), {OpId(i), {}}});
    }
  }
  program.consumers = Consumers(operations, waits);
  return program;
}

}  // namespace

TEST_CASE("consumers by producer, in the order in which they were given") {
  const Consumers consumers(3, {{OpId(2), {OpId(9), {}}},
                                {OpId(0), {OpId(7), {}}},
                                {OpId(2), {OpId(4), {ValueKind::q}}},
                                {OpId(2), {OpId(9), {}}}});
  REQUIRE(consumers[0].size() == 1);
  CHECK(consumers[0][0].operation == OpId(7));
  CHECK(consumers[1].empty());
  REQUIRE(consumers[2].size() == 3);
  CHECK(consumers[2][0].operation == OpId(9));
  CHECK(consumers[2][1].operation == OpId(4));
  CHECK(consumers[2][1].carried == Carried{ValueKind::q});
  CHECK(consumers[2][2].operation == OpId(9));
  CHECK(Consumers(1, {})[0].empty());
}

TEST_CASE("each operation has a place of its own on its device, and each input a slot") {
  const std::size_t operations = 7;
  const Program program = alternating(operations);
  const ProgramPlaces places(program);
  CHECK(places.first() == std::vector<OpId>{OpId(0)});
  for (std::size_t device = 0; device < 2; ++device) {
    std::set<std::uint32_t> indexes;
    std::set<std::uint32_t> slots;
    std::size_t inputs = 0;
    for (std::size_t i = device; i < operations; i += 2) {
      const ProgramPlaces::Place& place = places.of(OpId(i));
      indexes.insert(place.index);
      for (std::uint32_t input = 0; input < i; ++input) {
        slots.insert(place.first_slot + input);
      }
      inputs += i;
    }
    const ProgramPlaces::Place& needed = places.needed_by(DeviceId(device));
    CHECK(indexes.size() == (device == 0 ? 4 : 3));
    CHECK(needed.index == indexes.size());
    CHECK(*indexes.rbegin() + 1 == needed.index);
    CHECK(slots.size() == inputs);
    CHECK(needed.first_slot == inputs);
    CHECK(*slots.rbegin() + 1 == needed.first_slot);
  }
}

TEST_CASE("every instance of a pool has places for all operations in calls") {
  Program program = alternating(5);
  program.pool_instances = 3;
  program.device_of.assign(5, DeviceId(0));
  program.device_of[4] = DeviceId(3);
  program.calls = {{OpId(0), OpId(1), OpId(2), OpId(3)}};
  const ProgramPlaces places(program);
  for (std::size_t instance = 0; instance < 3; ++instance) {
    CHECK(places.needed_by(DeviceId(instance)).index == 4);
    CHECK(places.needed_by(DeviceId(instance)).first_slot == 0 + 1 + 2 + 3);
  }
  CHECK(places.needed_by(DeviceId(3)).index == 1);
  CHECK(places.needed_by(DeviceId(3)).first_slot == 4);
}

}  // namespace qfs
