// A device alone: which launch it takes next, what a launch costs, and that it sends what others
// need.
#include "hardware/device/device.hpp"

#include <memory>
#include <string>
#include <vector>

#include "hardware/link/link.hpp"
#include "hardware/memory/ideal_memory.hpp"
#include "hardware/simulated_time.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

class Sink : public sc_core::sc_module, public MessageSink {
 public:
  std::vector<std::shared_ptr<Message>> messages;
  explicit Sink(sc_core::sc_module_name name) : sc_module(name) {}
  void put(std::shared_ptr<Message> message) override { messages.push_back(std::move(message)); }
};

/// A program of operations without inputs, each a batch of its own on device 0.
struct Bench {
  Program program;
  std::vector<Wait> waits;
  ExecutionTable table;
  DeviceConfig config;

  Bench() {
    program.rules = {test::tiny_shape(), {}, Accounting::weights_and_sweep};
    config.bandwidth = BytesPerSecond(femtoseconds_per_second);  // a byte a femtosecond
  }

  OpId add(OpKind kind, std::size_t layer = 0, bool awaited_elsewhere = false) {
    Operation operation;
    operation.id = OpId(program.graph.operations.size());
    operation.kind = kind;
    operation.layer = LayerId(layer);
    program.graph.operations.push_back(operation);
    program.device_of.emplace_back(0);
    program.awaited_inputs.push_back(0);
    program.awaited_elsewhere.push_back(awaited_elsewhere);
    program.wave_members.push_back(1);
    program.ends_request.push_back(false);
    return operation.id;
  }

  void wait_for(OpId consumer, OpId producer, ValueKind value) {
    waits.push_back({producer, {consumer, {value, {}}}});
    ++program.awaited_inputs[consumer.value()];
  }

  std::vector<std::shared_ptr<Message>> run() {
    set_femtosecond_resolution();
    program.consumers = Consumers(program.graph.operations.size(), waits);
    IdealMemory memory("memory", config.bandwidth);
    CallBook calls(program);
    const ProgramPlaces places(program);
    Instant instant("instant");
    std::size_t residents = 1;
    Device device("device", DeviceId(0), config, {}, {memory},
                  {program, places, table, calls, instant, residents, 2}, {});
    Sink sink("sink");
    device.out_device[1].bind(sink);
    sc_core::sc_start();
    return sink.messages;
  }

  [[nodiscard]] std::string order() const {
    std::string text;
    for (const Row& row : table.rows) {
      text += (text.empty() ? "" : " ") + std::string(name_of(row.op)) +
              std::to_string(row.layer.value());
    }
    return text;
  }
};

/// Devices built in this order, each with a launch as long as the others' and a result for a device
/// that they share a port to.
void check_order(const std::vector<std::size_t>& built) {
  const std::size_t devices = built.size();
  Bench bench;
  for (std::size_t i = 0; i < devices; ++i) {
    const OpId made = bench.add(OpKind::ffn, i);
    const OpId reader = bench.add(OpKind::o, i);
    bench.program.device_of[made.value()] = DeviceId(i);
    bench.program.device_of[reader.value()] = DeviceId(devices);
    bench.wait_for(reader, made, ValueKind::residual);
  }
  set_femtosecond_resolution();
  bench.program.consumers = Consumers(bench.program.graph.operations.size(), bench.waits);
  CallBook calls(bench.program);
  const ProgramPlaces places(bench.program);
  Instant instant("instant");
  std::size_t residents = 1;
  LinkConfig link;
  link.message_overhead = to_seconds(Femtoseconds(7));
  LinkDirection port("port", link, devices + 1, bench.table, 0, instant);
  Sink sink("sink");
  port.out_device[devices].bind(sink);
  std::vector<std::unique_ptr<IdealMemory>> memories;
  std::vector<std::unique_ptr<Device>> parts;
  for (const std::size_t i : built) {
    const std::string name = "device_" + std::to_string(i);
    memories.push_back(
        std::make_unique<IdealMemory>((name + "_memory").c_str(), bench.config.bandwidth));
    const DeviceContext context{bench.program, places,    bench.table, calls,
                                instant,       residents, devices + 1};
    parts.push_back(std::make_unique<Device>(name.c_str(), DeviceId(i), bench.config,
                                             DevicePolicy{}, DeviceMemory{*memories.back()},
                                             context, DeviceKernels{}));
    parts.back()->out_device[devices].bind(port);
  }
  sc_core::sc_start();
  REQUIRE(bench.table.rows.size() == 2 * devices);
  for (std::size_t i = 0; i < devices; ++i) {
    const Row& launch = bench.table.rows[i];
    const Row& message = bench.table.rows[devices + i];
    CHECK(launch.layer == LayerId(i));
    CHECK(launch.start == Femtoseconds(0));
    CHECK(message.layer == LayerId(i));
    CHECK(message.ready == launch.end);
    CHECK(message.start == launch.end + Femtoseconds(7 * static_cast<std::int64_t>(i)));
    CHECK(sink.messages[i]->from == DeviceId(i));
  }
}

}  // namespace

TEST_CASE("what another device awaits goes first, then program order") {
  Bench bench;
  bench.add(OpKind::ffn, 0);
  bench.add(OpKind::kv, 1);
  bench.add(OpKind::kv, 0);
  bench.add(OpKind::q, 2, true);
  bench.run();
  CHECK(bench.order() == "q2 kv0 ffn0 kv1");
}

TEST_CASE("what has been ready longer goes before program order") {
  Bench bench;
  const OpId q = bench.add(OpKind::q, 0);
  const OpId late = bench.add(OpKind::kv, 0);  // ready when q ends
  bench.add(OpKind::ffn, 1);                   // ready at once
  bench.wait_for(late, q, ValueKind::order);
  bench.run();
  CHECK(bench.order() == "q0 ffn1 kv0");
}

TEST_CASE(
    "one launch at a time, and each costs launches, then the longest of memory and arithmetic") {
  Bench bench;
  const ModelShape shape = test::tiny_shape();
  bench.config.launch_overhead = to_seconds(Femtoseconds(10));
  bench.config.mac_rate = MacsPerSecond(femtoseconds_per_second * 0.25);
  bench.add(OpKind::ffn, 0);
  bench.add(OpKind::ffn, 1);
  bench.run();
  const auto macs = static_cast<std::int64_t>(3 * shape.ffn * shape.hidden);
  const std::int64_t cost = 2 * 10 + std::max(2 * macs, 4 * macs);
  REQUIRE(bench.table.rows.size() == 2);
  CHECK(bench.table.rows[0].end == Femtoseconds(cost));
  CHECK(bench.table.rows[1].start == Femtoseconds(cost));
  CHECK(bench.table.rows[1].end == Femtoseconds(2 * cost));
  CHECK(bench.table.rows[1].ready == Femtoseconds(0));
}

TEST_CASE("an append takes no executor slot but shares the memory") {
  Bench bench;
  bench.program.rules.accounting = Accounting::full;
  bench.add(OpKind::append, 0);
  const OpId ffn = bench.add(OpKind::ffn, 0);
  bench.run();
  REQUIRE(bench.table.rows.size() == 2);
  const Row& append =
      bench.table.rows[0].op == OpKind::append ? bench.table.rows[0] : bench.table.rows[1];
  const Row& other =
      bench.table.rows[0].op == OpKind::append ? bench.table.rows[1] : bench.table.rows[0];
  CHECK(other.op == bench.program.graph[ffn].kind);
  CHECK(append.start == Femtoseconds(0));
  CHECK(other.start == Femtoseconds(0));
  const std::int64_t row_bytes = append.work.memory_bytes().value();
  CHECK(row_bytes > 0);
  CHECK(append.end == Femtoseconds(2 * row_bytes));
  CHECK(other.end == Femtoseconds(other.work.memory_bytes().value() + row_bytes));
}

TEST_CASE("a result that another device needs is sent once, with each value once") {
  Bench bench;
  const OpId kv = bench.add(OpKind::kv, 0);
  const OpId there = bench.add(OpKind::append, 0);
  const OpId also_there = bench.add(OpKind::sweep, 0);
  bench.program.device_of[there.value()] = DeviceId(1);
  bench.program.device_of[also_there.value()] = DeviceId(1);
  bench.wait_for(there, kv, ValueKind::k);
  bench.wait_for(there, kv, ValueKind::v);
  bench.wait_for(also_there, kv, ValueKind::k);
  const auto messages = bench.run();
  REQUIRE(messages.size() == 1);
  CHECK(messages[0]->items == std::vector<MessageItem>{{kv, {ValueKind::k}}, {kv, {ValueKind::v}}});
  CHECK(messages[0]->row.carries == std::vector<ValueKind>{ValueKind::k, ValueKind::v});
  CHECK(messages[0]->row.wire_bytes == Bytes(2 * 2 * 16));  // bf16 k and v of 2 heads of 8
  CHECK(bench.table.rows.size() == 1);
}

TEST_CASE("launches that end at one instant send by device: built from the last to the first") {
  check_order({3, 2, 1, 0});
}

TEST_CASE("launches that end at one instant send by device: built in no order") {
  check_order({2, 0, 3, 1});
}

TEST_CASE("a request whose last operation two instances have done has ended once") {
  Bench bench;
  const OpId input = bench.add(OpKind::o);
  const OpId last = bench.add(OpKind::lm_head);
  bench.wait_for(last, input, ValueKind::residual);
  Program& program = bench.program;
  program.pool_instances = 2;
  program.device_of = {DeviceId(2), DeviceId(0)};
  program.calls = {{last}};
  program.call_of = {in_none, 0};
  program.ends_request[last.value()] = true;
  program.consumers = Consumers(2, bench.waits);
  set_femtosecond_resolution();
  CallBook calls(program);
  const Operation* opener[] = {&program.graph[input]};
  calls.open_calls(opener);
  const std::vector<std::uint32_t> again{0};
  REQUIRE(calls.open_again(again) == DeviceId(1));
  const ProgramPlaces places(program);
  Instant instant("instant");
  std::size_t residents = 5;
  const DeviceContext context{program, places, bench.table, calls, instant, residents, 3};
  IdealMemory memory("memory", bench.config.bandwidth);
  Device first("first", DeviceId(0), bench.config, {}, {memory}, context, {});
  Device second("second", DeviceId(1), bench.config, {}, {memory}, context, {});
  sc_core::sc_spawn([&] {
    bench.table.add({});  // the message's row
    for (Device* device : {&first, &second}) {
      auto message = std::make_shared<Message>();
      message->from = DeviceId(2);
      message->items = {{input, {ValueKind::residual}}};
      device->put(std::move(message));
    }
  });
  sc_core::sc_start();
  REQUIRE(bench.table.rows.size() == 3);
  CHECK(bench.table.rows[1].op == OpKind::lm_head);
  CHECK(bench.table.rows[2].op == OpKind::lm_head);
  CHECK(residents == 4);
}

}  // namespace qfs
