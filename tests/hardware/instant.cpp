// Choosing among what is there at one instant of simulated time, and one port that several devices
// share.
#include "hardware/instant.hpp"

#include <memory>
#include <string>
#include <vector>

#include "hardware/link/link.hpp"
#include "hardware/simulated_time.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

constexpr int rounds = 12;

/// Ends after so many rounds of the scheduler without time going on.
void idle_rounds(int count) {
  for (int i = 0; i < count; ++i) {
    sc_core::wait(sc_core::SC_ZERO_TIME);
  }
}

class Sink : public sc_core::sc_module, public MessageSink {
 public:
  struct Arrival {
    std::int64_t at_fs;
    std::int64_t bytes;
  };
  std::vector<Arrival> arrivals;
  explicit Sink(sc_core::sc_module_name name) : sc_module(name) {}
  void put(std::shared_ptr<Message> message) override {
    arrivals.push_back({now().value(), message->row.wire_bytes.value()});
  }
};

std::shared_ptr<Message> message_to(std::size_t device, std::int64_t bytes) {
  auto message = std::make_shared<Message>();
  message->to = DeviceId(device);
  message->row.wire_bytes = Bytes(bytes);
  return message;
}

}  // namespace

TEST_CASE(
    "two that choose at one instant both see what arrives late in it, and time stands still") {
  set_femtosecond_resolution();
  Instant instant("instant");
  int arrived = 0;
  std::vector<int> seen;
  std::vector<std::int64_t> when;
  for (int chooser = 0; chooser < 2; ++chooser) {
    sc_core::sc_spawn([&, chooser] {
      sc_core::wait(sc_core::sc_time::from_value(5));
      idle_rounds(chooser);  // not in the same round either
      instant.in_turn(Stage::choices, 0, [&] {
        seen.push_back(arrived);
        when.push_back(now().value());
      });
    });
  }
  sc_core::sc_spawn([&] {
    sc_core::wait(sc_core::sc_time::from_value(5));
    for (int i = 0; i < rounds; ++i) {
      idle_rounds(1);
      ++arrived;
    }
  });
  sc_core::sc_start();
  CHECK(seen == std::vector<int>{rounds, rounds});
  CHECK(when == std::vector<std::int64_t>{5, 5});
}

TEST_CASE("stage after stage, and what an earlier one sets off comes before a later one") {
  set_femtosecond_resolution();
  Instant instant("instant");
  std::string order;
  sc_core::sc_event ev_more;
  const auto note = [&](Stage stage, const char* what) {
    sc_core::sc_spawn([&, stage, what] { instant.in_turn(stage, 0, [&] { order += what; }); });
  };
  note(Stage::leftover, "leftover ");
  note(Stage::choices, "choice ");
  note(Stage::alarms, "alarm ");
  note(Stage::ends, "end ");
  note(Stage::arrivals, "arrival ");
  sc_core::sc_spawn([&] {
    instant.in_turn(Stage::beside, 0, [&] {
      order += "beside ";
      ev_more.notify(sc_core::SC_ZERO_TIME);
    });
  });
  sc_core::sc_spawn([&] {
    sc_core::wait(ev_more);
    idle_rounds(rounds);
    instant.in_turn(Stage::ends, 0, [&] { order += "another end "; });
  });
  sc_core::sc_spawn([&] {
    idle_rounds(rounds);
    order += "without a turn ";
  });
  sc_core::sc_start();
  CHECK(order == "without a turn arrival end beside another end alarm choice leftover ");
  CHECK(now() == Femtoseconds(0));
}

TEST_CASE("within a stage by place, whoever came first, and nothing they set off in between") {
  set_femtosecond_resolution();
  Instant instant("instant");
  std::string order;
  sc_core::sc_event ev_set_off;
  sc_core::sc_spawn([&] {
    sc_core::wait(ev_set_off);
    order += "effect ";
  });
  for (const std::size_t place : {2, 0, 3, 1}) {
    sc_core::sc_spawn([&, place] {
      instant.in_turn(Stage::ends, place, [&] {
        order += std::to_string(place) + " ";
        ev_set_off.notify();
      });
    });
  }
  sc_core::sc_start();
  CHECK(order == "0 1 2 3 effect ");
}

TEST_CASE("a choice at one instant does not wait for the next") {
  set_femtosecond_resolution();
  Instant instant("instant");
  std::vector<std::int64_t> when;
  sc_core::sc_spawn([&] {
    const auto note = [&when] { when.push_back(now().value()); };
    instant.in_turn(Stage::choices, 0, note);
    sc_core::wait(sc_core::sc_time::from_value(3));
    instant.in_turn(Stage::choices, 0, note);
  });
  sc_core::sc_spawn([] { sc_core::wait(sc_core::sc_time::from_value(1000)); });
  sc_core::sc_start();
  CHECK(when == std::vector<std::int64_t>{0, 3});
}

TEST_CASE("messages to different devices queue on one port, in the order in which they came") {
  set_femtosecond_resolution();
  LinkConfig config;
  config.bandwidth = BytesPerSecond(femtoseconds_per_second);  // a byte a femtosecond
  config.latency = to_seconds(Femtoseconds(100));
  ExecutionTable table;
  table.resources.push_back({"link.to_cache_devices", ResourceKind::link});
  Instant instant("instant");
  LinkDirection port("port", config, 3, table, 0, instant);
  Sink first("first");
  Sink second("second");
  port.out_device[1].bind(first);
  port.out_device[2].bind(second);
  sc_core::sc_spawn([&] {
    port.put(message_to(2, 10));
    port.put(message_to(1, 20));
    port.put(message_to(2, 5));
  });
  sc_core::sc_start();
  REQUIRE(second.arrivals.size() == 2);
  REQUIRE(first.arrivals.size() == 1);
  CHECK(second.arrivals[0].at_fs == 110);
  CHECK(first.arrivals[0].at_fs == 130);
  CHECK(second.arrivals[1].at_fs == 135);
  CHECK(first.arrivals[0].bytes == 20);
  CHECK(second.arrivals[1].bytes == 5);
}

}  // namespace qfs
