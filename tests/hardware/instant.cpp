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
      instant.wait_until_settled();
      seen.push_back(arrived);
      when.push_back(now().value());
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

TEST_CASE("what takes no time goes before the choices, and what it sets off is seen by them") {
  set_femtosecond_resolution();
  Instant instant("instant");
  std::string order;
  sc_core::sc_event ev_more;
  sc_core::sc_spawn([&] {
    instant.wait_until_settled();
    order += "choice ";
  });
  sc_core::sc_spawn([&] {
    instant.wait_until_quiet();
    order += "quiet ";
    ev_more.notify(sc_core::SC_ZERO_TIME);
  });
  sc_core::sc_spawn([&] {
    sc_core::wait(ev_more);
    idle_rounds(rounds);
    instant.wait_until_quiet();  // again, at the same instant
    order += "more ";
  });
  sc_core::sc_spawn([&] {
    idle_rounds(rounds);
    order += "arrival ";
  });
  sc_core::sc_start();
  CHECK(order == "arrival quiet more choice ");
  CHECK(now() == Femtoseconds(0));
}

TEST_CASE("a choice at one instant does not wait for the next") {
  set_femtosecond_resolution();
  Instant instant("instant");
  std::vector<std::int64_t> when;
  sc_core::sc_spawn([&] {
    instant.wait_until_settled();
    when.push_back(now().value());
    sc_core::wait(sc_core::sc_time::from_value(3));
    instant.wait_until_settled();
    when.push_back(now().value());
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
  LinkDirection port("port", config, 3, table, 0);
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
