// The protocol's parts alone: a link that loses messages with a delivery around it, the outages of
// an instance, who gets a call anew.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hardware/call_book.hpp"
#include "hardware/protocol/call_watch.hpp"
#include "hardware/protocol/delivery.hpp"
#include "hardware/protocol/outages.hpp"
#include "hardware/protocol/stall_source.hpp"
#include "hardware/simulated_time.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

constexpr std::int64_t latency_fs = 1000;
constexpr std::int64_t timeout_fs = 5000;

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

Seconds femtoseconds(std::int64_t value) { return to_seconds(Femtoseconds(value)); }

Disturbances bad_link(double lost, double late) {
  Disturbances disturbances;
  disturbances.messages = {lost, late, femtoseconds(3000), femtoseconds(timeout_fs), 11};
  return disturbances;
}

struct Outcome {
  std::vector<Arrival> arrivals;
  ExecutionTable table;
};

/// Messages of 1, 2, ... bytes, one every `every_fs`, over a link of a byte a femtosecond.
/// `alive_until_fs`: then the receiver dies; `wanted`: whether messages are worth repeating.
Outcome send(std::size_t count, std::int64_t every_fs, const Disturbances& disturbances,
             std::optional<std::int64_t> alive_until_fs = {}, bool wanted = true) {
  set_femtosecond_resolution();
  Outcome outcome;
  outcome.table.resources.push_back({"link.to_sink", ResourceKind::link});
  LinkConfig config;
  config.bandwidth = BytesPerSecond(femtoseconds_per_second);
  config.latency = femtoseconds(latency_fs);
  Instant instant("instant");
  Timers timers("timers", instant);
  LinkDirection link("link", config, 2, outcome.table, 0, instant, disturbances);
  const auto alive = [&](DeviceId device) {
    return device != DeviceId(1) || !alive_until_fs || now().value() < *alive_until_fs;
  };
  Delivery delivery("delivery", disturbances.messages, config.latency, 2, outcome.table, timers,
                    {alive, [wanted](const Message&) { return wanted; }});
  Sink sink("sink");
  delivery.out_link.bind(link);
  link.out_device[1].bind(delivery.far_end());
  delivery.out_device[1].bind(sink);
  sc_core::sc_spawn([&] {
    for (std::size_t i = 0; i < count; ++i) {
      auto message = std::make_shared<Message>();
      message->to = DeviceId(1);
      message->row.wire_bytes = Bytes(static_cast<std::int64_t>(i) + 1);
      delivery.put(message);
      sc_core::wait(to_sc_time(Femtoseconds(every_fs)));
    }
  });
  sc_core::sc_start();
  outcome.arrivals = sink.arrivals;
  return outcome;
}

std::size_t rows_with(const ExecutionTable& table, RowFate fate) {
  return static_cast<std::size_t>(std::count_if(
      table.rows.begin(), table.rows.end(), [fate](const Row& row) { return row.fate == fate; }));
}

/// 500 messages that overtake each other on a bad link: each arrives once, in the order sent.
void check_in_order(const Outcome& outcome) {
  REQUIRE(outcome.arrivals.size() == 500);
  for (std::size_t i = 0; i < outcome.arrivals.size(); ++i) {
    CHECK(outcome.arrivals[i].bytes == static_cast<std::int64_t>(i) + 1);
  }
}

/// Calls of one operation each, of a pool of two: for each the owner's operation that opens it, the
/// called one, and the owner's that reads it.
Program called_alone(std::size_t calls) {
  Program program;
  std::vector<Wait> waits;
  program.pool_instances = 2;
  for (std::size_t i = 0; i < 3 * calls; ++i) {
    const bool called = i % 3 == 1;
    Operation operation;
    operation.id = OpId(i);
    program.graph.operations.push_back(operation);
    program.device_of.emplace_back(called ? 0 : 2);
    program.call_of.push_back(called ? static_cast<std::uint32_t>(i / 3) : in_none);
    if (i % 3 < 2) {
      waits.push_back({OpId(i), {OpId(i + 1), {ValueKind::residual}}});
    }
  }
  program.consumers = Consumers(3 * calls, waits);
  for (std::size_t call = 0; call < calls; ++call) {
    program.calls.push_back({OpId(3 * call + 1)});
  }
  return program;
}

}  // namespace

TEST_CASE("a delivery over a good link is the link") {
  const Outcome outcome = send(500, 100, bad_link(0, 0));
  check_in_order(outcome);
  CHECK(outcome.table.rows.size() == 500);
  CHECK(outcome.arrivals[0].at_fs == 1 + latency_fs);
}

TEST_CASE("on a link that loses a third and delays a third all arrives once and in order") {
  const Outcome outcome = send(500, 100, bad_link(1.0 / 3, 1.0 / 3));
  check_in_order(outcome);
  const std::size_t lost = rows_with(outcome.table, RowFate::lost);
  CHECK(lost > 150);
  CHECK(lost < 350);
  CHECK(rows_with(outcome.table, RowFate::used) == 500);
  // What was late came at 4000, its acknowledgement at 5000 after it left: just in time.
  CHECK(rows_with(outcome.table, RowFate::dropped) == 0);
  CHECK(outcome.table.rows.size() == 500 + lost);
}

TEST_CASE("a message that is late beyond the time-out arrives twice, and the second is dropped") {
  Disturbances disturbances = bad_link(0, 0.5);
  disturbances.messages.delay = femtoseconds(3001);  // acknowledged at 5001
  const Outcome outcome = send(500, 100, disturbances);
  check_in_order(outcome);
  const std::size_t dropped = rows_with(outcome.table, RowFate::dropped);
  CHECK(dropped > 150);
  CHECK(outcome.table.rows.size() == 500 + dropped);
}

TEST_CASE("each attempt leaves after the time-out, the next after twice the time") {
  const Outcome outcome = send(1, 1, bad_link(0.9, 0));
  REQUIRE(outcome.arrivals.size() == 1);
  REQUIRE(outcome.table.rows.size() > 2);  // with this seed
  std::int64_t leaves = 0;
  std::int64_t timeout = timeout_fs;
  for (std::size_t i = 0; i < outcome.table.rows.size(); ++i) {
    const Row& row = outcome.table.rows[i];
    CHECK(row.attempt == static_cast<int>(i) + 1);
    CHECK(row.start.value() == leaves);
    CHECK(row.end.value() == leaves + 1 + latency_fs);
    CHECK(row.wire_bytes == Bytes(1));
    const bool last = i + 1 == outcome.table.rows.size();
    CHECK(row.fate == (last ? RowFate::used : RowFate::lost));
    leaves += 1 + timeout;
    timeout *= timeout < 1'000'000'000'000'000 ? 2 : 1;  // up to a second
  }
}

TEST_CASE("a long time-out does not double beyond the clock") {
  Disturbances disturbances = bad_link(0.9, 0);
  disturbances.messages.timeout = Seconds(0.9);
  const Outcome outcome = send(1, 1, disturbances);
  REQUIRE(outcome.arrivals.size() == 1);
  REQUIRE(outcome.table.rows.size() > 14);  // with this seed; 0.9 s doubled 14 times is too long
  for (std::size_t i = 1; i < outcome.table.rows.size(); ++i) {
    const Femtoseconds waited = outcome.table.rows[i].start - outcome.table.rows[i - 1].start;
    const Seconds timeout(i == 1 ? 0.9 : 1.8);
    CHECK(waited == to_femtoseconds(timeout) + Femtoseconds(1));
  }
}

TEST_CASE("nothing is repeated that nobody wants, and what follows does not wait for it") {
  const Outcome outcome = send(50, 100, bad_link(0.5, 0), {}, false);
  const std::size_t lost = rows_with(outcome.table, RowFate::lost);
  CHECK(lost > 5);
  CHECK(outcome.table.rows.size() == 50);
  CHECK(outcome.arrivals.size() == 50 - lost);
}

TEST_CASE("to a receiver that has died a message goes so many times and no more") {
  const Outcome outcome = send(3, 100, bad_link(0, 0), 1150);
  CHECK(outcome.arrivals.size() == 2);  // at 1001 and 1102
  REQUIRE(outcome.table.rows.size() > 3);
  CHECK(outcome.table.rows.size() < 30);
  CHECK(rows_with(outcome.table, RowFate::lost) == outcome.table.rows.size() - 2);
}

TEST_CASE("outages: nothing begins in a stall, what runs into one ends later by its length") {
  const std::vector<InstanceFault> faults{
      {0, femtoseconds(100), femtoseconds(50)}, {0, femtoseconds(120), femtoseconds(80)},
      {0, femtoseconds(300), femtoseconds(10)}, {1, femtoseconds(0), femtoseconds(9999)},
      {0, femtoseconds(1000), std::nullopt},    {0, femtoseconds(900), std::nullopt}};
  const Outages outages(faults, 0);  // stalls [100, 200) and [300, 310), death at 900
  const auto resumes = [&](std::int64_t at) { return outages.resumes(Femtoseconds(at)).value(); };
  CHECK(resumes(99) == 99);
  CHECK(resumes(100) == 200);
  CHECK(resumes(199) == 200);
  CHECK(resumes(200) == 200);
  const auto end = [&](std::int64_t start, std::int64_t without) {
    return outages.end_of_launch(Femtoseconds(start), Femtoseconds(without)).value();
  };
  CHECK(end(0, 100) == 100);
  CHECK(end(0, 101) == 201);
  CHECK(end(50, 200) == 300);
  CHECK(end(50, 201) == 311);  // the first stall leads into the second
  CHECK(end(200, 250) == 250);
  CHECK(!outages.dead(Femtoseconds(899)));
  CHECK(outages.dead(Femtoseconds(900)));
  CHECK(!Outages(faults, 2).any());
}

TEST_CASE("stalls: as often as asked, shorter than the longest, each place its own") {
  const Stalls stalls{0.25, Seconds(2), 5};
  constexpr std::size_t draws = 10000;
  StallSource source(stalls, 3);
  StallSource same(stalls, 3);
  StallSource other(stalls, 4);
  std::size_t stalled = 0;
  std::size_t differ = 0;
  double sum = 0;
  for (std::size_t i = 0; i < draws; ++i) {
    const Seconds length = source.next();
    CHECK(length == same.next());
    CHECK(length < Seconds(2));
    differ += length == other.next() ? 0 : 1;
    stalled += length > Seconds(0) ? 1 : 0;
    sum += length.value();
  }
  CHECK(static_cast<double>(stalled) / draws == Approx(0.25).margin(0.02));  // 4.6 sigma
  CHECK(sum / static_cast<double>(stalled) == Approx(1).margin(0.05));       // 4.3 sigma
  CHECK(differ > draws / 4);
  StallSource none({}, 3);
  CHECK(none.next() == Seconds(0));
}

TEST_CASE("a call given anew goes to who has not had it, avoided ones last, then to nobody") {
  Program program;
  program.pool_instances = 4;
  const auto add = [&](std::uint32_t call) {
    Operation operation;
    operation.id = OpId(program.graph.operations.size());
    program.graph.operations.push_back(operation);
    program.device_of.emplace_back(call == in_none ? 4 : 0);
    program.call_of.push_back(call);
    return operation.id;
  };
  const OpId opener = add(in_none);
  const OpId called = add(0);
  program.calls = {{called}};
  program.consumers = Consumers(2, {{opener, {called, {}}}});
  CallBook book(program);
  const Operation* launched = &program.graph[opener];
  book.open_calls({&launched, 1});
  const std::vector<std::uint32_t> calls{0};
  book.avoid(1, true);
  CHECK(book.open_again(calls) == DeviceId(2));
  CHECK(book.device_of(called) == DeviceId(2));
  CHECK(book.executes(DeviceId(0), called));
  CHECK(book.executes(DeviceId(2), called));
  CHECK(!book.executes(DeviceId(1), called));
  CHECK(book.attempt(DeviceId(0), called) == 1);
  CHECK(book.attempt(DeviceId(2), called) == 2);
  CHECK(book.open_again(calls) == DeviceId(3));
  CHECK(book.open_again(calls) == DeviceId(1));
  CHECK(book.open_again(calls) == std::nullopt);
  CHECK(book.note_done(called));
  CHECK(!book.note_done(called));
  CHECK(book.done() == 1);
}

TEST_CASE(
    "a call that takes too long is sent anew, and its instance gets no other until it answers") {
  set_femtosecond_resolution();
  const Program program = called_alone(3);
  CallBook book(program);
  Instant instant("instant");
  Timers timers("timers", instant);
  struct Sent {
    std::int64_t at_fs;
    DeviceId to;
    std::vector<MessageItem> values;
    int attempt;
  };
  std::vector<Sent> sent;
  CallWatch watch(program, book, timers, {femtoseconds(100), femtoseconds(10), {{}, {}}},
                  [&](DeviceId to, const std::vector<MessageItem>& values, int attempt) {
                    sent.push_back({now().value(), to, values, attempt});
                  });
  const auto call = [&](std::size_t index) {
    const Operation* opener = &program.graph[OpId(3 * index)];
    book.open_calls({&opener, 1});
    watch.note_sent(program.consumers[3 * index].front());
    return book.device_of(OpId(3 * index + 1));
  };
  const auto result = [](std::size_t index) {
    return MessageItem{OpId(3 * index + 1), {ValueKind::residual}};
  };
  sc_core::sc_spawn([&] {
    CHECK(call(0) == DeviceId(0));
    sc_core::wait(to_sc_time(Femtoseconds(150)));
    // Each has one now, and equals go to the lowest index but for the time-out.
    CHECK(call(1) == DeviceId(1));
    CHECK(watch.accept(DeviceId(1), result(1)));
    CHECK(watch.over(OpId(4)));
    CHECK(!watch.over(OpId(1)));
    CHECK(watch.accept(DeviceId(0), result(0)));
    CHECK(watch.over(OpId(1)));
    CHECK(!watch.accept(DeviceId(1), result(0)));
    CHECK(call(2) == DeviceId(0));  // it has answered
    CHECK(watch.accept(DeviceId(0), result(2)));
  });
  sc_core::sc_start();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].at_fs == 100);
  CHECK(sent[0].to == DeviceId(1));
  CHECK(sent[0].values == std::vector<MessageItem>{{OpId(0), {ValueKind::residual}}});
  CHECK(sent[0].attempt == 2);
}

}  // namespace qfs
