// Calls of a pool and replies: who gets a call, and when results leave.
#include "hardware/call_book.hpp"

#include <cstddef>
#include <vector>

#include "tests/support/catch.hpp"

namespace qfs {
namespace {

/// Producers on device 3, the owner; each opens a call of the operations that read it.
struct Bench {
  Program program;
  std::vector<Wait> waits;

  explicit Bench(std::size_t instances = 3) { program.pool_instances = instances; }

  OpId add(std::size_t device) {
    Operation operation;
    operation.id = OpId(program.graph.operations.size());
    program.graph.operations.push_back(operation);
    program.device_of.emplace_back(device);
    program.call_of.push_back(in_none);
    program.reply_of.push_back(in_none);
    return operation.id;
  }

  /// A call of so many operations and the owner's operation that opens it.
  OpId add_call(std::size_t operations) {
    const OpId opener = add(3);
    const auto call = static_cast<std::uint32_t>(program.calls.size());
    program.calls.emplace_back();
    for (std::size_t i = 0; i < operations; ++i) {
      const OpId called = add(0);
      program.calls[call].push_back(called);
      program.call_of[called.value()] = call;
      waits.push_back({opener, {called, {}}});
    }
    return opener;
  }

  /// With all that has been added.
  const Program& placed() {
    program.consumers = Consumers(program.graph.operations.size(), waits);
    return program;
  }

  void reply(const Reply& together) {
    for (const OpId id : together) {
      program.reply_of[id.value()] = static_cast<std::uint32_t>(program.replies.size());
    }
    program.replies.push_back(together);
  }
};

void open(const Program& program, CallBook& book, OpId opener) {
  const Operation* launched = &program.graph[opener];
  book.open_calls({&launched, 1});
}

std::vector<OpId> ended(CallBook& book, OpId operation) {
  const std::span<const OpId> leaving = book.end(operation);
  return {leaving.begin(), leaving.end()};
}

}  // namespace

TEST_CASE("a call goes to the instance with the fewest open calls, the lowest among equals") {
  Bench bench;
  std::vector<OpId> openers;
  for (std::size_t i = 0; i < 6; ++i) {
    openers.push_back(bench.add_call(1));
  }
  CallBook book(bench.placed());
  const auto called = [&](std::size_t i) { return bench.program.calls[i].front(); };
  CHECK(book.device_of(called(0)) == DeviceId(0));  // nobody's yet
  for (std::size_t i = 0; i < 4; ++i) {
    open(bench.program, book, openers[i]);
    CHECK(book.device_of(called(i)) == DeviceId(i % 3));
  }
  // Open now: two on 0, one each on 1 and 2. One of 2 and both of 0 end.
  ended(book, called(2));
  open(bench.program, book, openers[4]);
  CHECK(book.device_of(called(4)) == DeviceId(2));
  ended(book, called(0));
  ended(book, called(3));
  open(bench.program, book, openers[5]);
  CHECK(book.device_of(called(5)) == DeviceId(0));
  CHECK(book.device_of(openers[0]) == DeviceId(3));  // the owner's stay where they are
}

TEST_CASE("a call stays where it is until the last of its operations is done") {
  Bench bench(2);
  const OpId first = bench.add_call(2);
  const OpId second = bench.add_call(1);
  const OpId third = bench.add_call(1);
  CallBook book(bench.placed());
  open(bench.program, book, first);
  open(bench.program, book, second);
  const Call& call = bench.program.calls[0];
  ended(book, call[0]);
  CHECK(book.device_of(call[1]) == DeviceId(0));
  open(bench.program, book, first);  // another input of an open call changes nothing
  CHECK(book.device_of(call[1]) == DeviceId(0));
  ended(book, bench.program.calls[1][0]);
  open(bench.program, book, third);  // instance 1 is free, 0 still has a call
  CHECK(book.device_of(bench.program.calls[2][0]) == DeviceId(1));
}

TEST_CASE("a launch takes all its calls to one instance") {
  Bench bench(2);
  const OpId busy = bench.add_call(1);
  const OpId a = bench.add_call(1);
  const OpId b = bench.add_call(1);
  CallBook book(bench.placed());
  open(bench.program, book, busy);
  const Operation* launched[] = {&bench.program.graph[a], &bench.program.graph[b]};
  book.open_calls(launched);
  CHECK(book.device_of(bench.program.calls[1][0]) == DeviceId(1));
  CHECK(book.device_of(bench.program.calls[2][0]) == DeviceId(1));
}

TEST_CASE("a result leaves alone, or with the last of its reply") {
  Bench bench;
  const OpId alone = bench.add(0);
  const OpId a = bench.add(0);
  const OpId b = bench.add(0);
  const OpId c = bench.add(0);
  bench.reply({a, b, c});
  CallBook book(bench.placed());
  CHECK(ended(book, alone) == std::vector<OpId>{alone});
  CHECK(ended(book, b).empty());
  CHECK(ended(book, a).empty());
  CHECK(ended(book, c) == std::vector<OpId>{a, b, c});
}

TEST_CASE("without calls and replies every operation stays and leaves by itself") {
  Program program;
  program.graph.operations.resize(2);
  program.device_of = {DeviceId(1), DeviceId(0)};
  program.consumers = Consumers(2, {});
  CallBook book(program);
  open(program, book, OpId(0));
  CHECK(book.device_of(OpId(0)) == DeviceId(1));
  CHECK(ended(book, OpId(1)) == std::vector<OpId>{OpId(1)});
}

}  // namespace qfs
