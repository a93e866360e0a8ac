// One direction of the link between a source that puts messages at set times and a sink that notes
// arrivals.
#include "hardware/link/link.hpp"

#include <deque>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "hardware/simulated_time.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

constexpr double per_femtosecond = femtoseconds_per_second;

struct Sending {
  std::int64_t at_fs;
  std::int64_t bytes;
};
struct Arrival {
  std::int64_t at_fs;
  std::int64_t bytes;
};

class Sink : public sc_core::sc_module, public MessageSink {
 public:
  std::vector<Arrival> arrivals;
  explicit Sink(sc_core::sc_module_name name) : sc_module(name) {}
  void put(std::shared_ptr<Message> message) override {
    arrivals.push_back({now().value(), message->row.wire_bytes.value()});
  }
};

struct Outcome {
  std::vector<Arrival> arrivals;
  ExecutionTable table;
};

Outcome send(const LinkConfig& config, const std::vector<Sending>& sendings) {
  set_femtosecond_resolution();
  Outcome outcome;
  outcome.table.resources.push_back({"link.to_sink", ResourceKind::link});
  Instant instant("instant");
  LinkDirection link("link", config, 1, outcome.table, 0, instant);
  Sink sink("sink");
  link.out_device[0].bind(sink);
  sc_core::sc_spawn([&] {
    for (const Sending& sending : sendings) {
      const Femtoseconds pause = Femtoseconds(sending.at_fs) - now();
      if (pause > Femtoseconds(0)) {
        sc_core::wait(to_sc_time(pause));
      }
      auto message = std::make_shared<Message>();
      message->row.wire_bytes = Bytes(sending.bytes);
      link.put(message);
    }
  });
  sc_core::sc_start();
  outcome.arrivals = sink.arrivals;
  return outcome;
}

LinkConfig config_with(std::int64_t latency_fs, std::int64_t overhead_fs) {
  LinkConfig config;
  config.bandwidth = BytesPerSecond(per_femtosecond);  // a byte a femtosecond
  config.latency = to_seconds(Femtoseconds(latency_fs));
  config.message_overhead = to_seconds(Femtoseconds(overhead_fs));
  return config;
}

}  // namespace

TEST_CASE("a message arrives after overhead, bytes and latency") {
  const Outcome outcome = send(config_with(1000, 30), {{7, 100}});
  REQUIRE(outcome.arrivals.size() == 1);
  CHECK(outcome.arrivals[0].at_fs == 7 + 30 + 100 + 1000);
  REQUIRE(outcome.table.rows.size() == 1);
  const Row& row = outcome.table.rows[0];
  CHECK(row.is_message());
  CHECK(row.ready == Femtoseconds(7));
  CHECK(row.start == Femtoseconds(7));
  CHECK(row.end == Femtoseconds(1137));
}

TEST_CASE(
    "the port is busy for overhead and bytes, not for the latency: messages are in flight "
    "together") {
  const Outcome outcome = send(config_with(1000, 30), {{0, 100}, {0, 50}, {500, 10}});
  REQUIRE(outcome.arrivals.size() == 3);
  CHECK(outcome.arrivals[0].at_fs == 1130);
  CHECK(outcome.arrivals[1].at_fs == 130 + 80 + 1000);
  CHECK(outcome.arrivals[2].at_fs == 500 + 40 + 1000);
  CHECK(outcome.table.rows[1].start == Femtoseconds(130));
}

TEST_CASE("an ideal link delivers at once, in order") {
  LinkConfig config;
  const Outcome outcome = send(config, {{5, 1}, {5, 2}, {5, 3}});
  REQUIRE(outcome.arrivals.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(outcome.arrivals[i].at_fs == 5);
    CHECK(outcome.arrivals[i].bytes == static_cast<std::int64_t>(i) + 1);
  }
}

TEST_CASE("500 random messages arrive as a queue says, with jitter late but never out of order") {
  std::vector<Sending> sendings;
  const Random random(5, 0);
  std::int64_t at = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    at += static_cast<std::int64_t>(random.below(2 * i, 120));
    sendings.push_back({at, static_cast<std::int64_t>(random.below(2 * i + 1, 100))});
  }
  LinkConfig config = config_with(250, 11);
  config.jitter = to_seconds(Femtoseconds(90));
  config.jitter_seed = 3;
  const Outcome outcome = send(config, sendings);
  std::deque<Sending> expected(sendings.begin(), sendings.end());
  std::int64_t port_free = 0;
  std::int64_t last = 0;
  bool delayed = false;
  REQUIRE(outcome.arrivals.size() == sendings.size());
  for (const Arrival& arrival : outcome.arrivals) {
    const Sending sending = expected.front();
    expected.pop_front();
    port_free = std::max(port_free, sending.at_fs) + 11 + sending.bytes;
    CHECK(arrival.bytes == sending.bytes);
    CHECK(arrival.at_fs >= std::max(port_free + 250, last));
    CHECK(arrival.at_fs <= std::max(port_free + 250 + 90, last));  // rounded to a femtosecond
    delayed = delayed || arrival.at_fs > port_free + 250;
    last = arrival.at_fs;
  }
  CHECK(delayed);
}

}  // namespace qfs
