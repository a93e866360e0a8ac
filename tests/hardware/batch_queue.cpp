// Which operations go together in one launch, and which launch is next: the queue alone, without a
// clock.
#include "hardware/device/batch_queue.hpp"

#include <cstddef>
#include <string>

#include "tests/support/catch.hpp"

namespace qfs {
namespace {

/// A program of as many operations as are added; two requests a wave.
struct Bench {
  Program program;
  std::size_t residents = 4;

  Bench() { program.wave = 2; }

  OpId add(OpKind kind, std::size_t request, std::size_t layer = 0, std::size_t step = 0,
           std::size_t shard = 0) {
    Operation operation;
    operation.id = OpId(program.graph.operations.size());
    operation.kind = kind;
    operation.request = RequestId(request);
    operation.layer = LayerId(layer);
    operation.step = StepId(step);
    operation.shard = shard;
    program.graph.operations.push_back(operation);
    program.awaited_elsewhere.push_back(false);
    program.wave_members.push_back(2);
    return operation.id;
  }
};

std::string text_of(const Batch& batch) {
  std::string text;
  for (const Operation* member : batch.members) {
    text += (text.empty() ? "" : " ") + std::string(name_of(member->kind)) +
            std::to_string(member->layer.value()) + ":" + std::to_string(member->request.value()) +
            "." + std::to_string(member->step.value());
  }
  return text;
}

Batching gathering(Gather products, double window_fs = 0) {
  return {products, Gather::request,
          to_seconds(Femtoseconds(static_cast<std::int64_t>(window_fs)))};
}

/// The operations by number, all ready at these times, taken at the end one after the other.
std::string taken(Bench& bench, BatchQueue& queue, Femtoseconds now) {
  std::string text;
  while (queue.due() && *queue.due() <= now) {
    text += (text.empty() ? "" : ", ") + text_of(queue.take(now));
  }
  CHECK(bench.residents == 4);
  return text;
}

}  // namespace

TEST_CASE("wave: a launch waits for the last of its wave, and is ready when that is") {
  Bench bench;
  const OpId second = bench.add(OpKind::q, 1);
  const OpId first = bench.add(OpKind::q, 0);
  BatchQueue queue(bench.program, gathering(Gather::wave), bench.residents);
  CHECK(!queue.due());
  queue.add(bench.program.graph[second], Femtoseconds(3));
  CHECK(!queue.due());
  queue.add(bench.program.graph[first], Femtoseconds(8));
  CHECK(queue.due() == Femtoseconds(8));
  const Batch batch = queue.take(Femtoseconds(9));
  CHECK(text_of(batch) == "q0:0.0 q0:1.0");
  CHECK(batch.first_ready == Femtoseconds(3));
  CHECK(batch.ready == Femtoseconds(8));
  CHECK(!queue.due());
}

TEST_CASE("wave: other waves, steps, layers and shards are other launches") {
  Bench bench;
  for (const std::size_t request : {0U, 1U, 2U, 3U}) {
    bench.add(OpKind::q, request);
  }
  for (const std::size_t request : {0U, 1U}) {
    bench.add(OpKind::q, request, 0, 1);
    bench.add(OpKind::q, request, 1, 0);
    bench.add(OpKind::q, request, 0, 0, 1);
  }
  BatchQueue queue(bench.program, gathering(Gather::wave), bench.residents);
  for (const Operation& operation : bench.program.graph.operations) {
    queue.add(operation, Femtoseconds(0));
  }
  // By step, layer, shard, wave.
  CHECK(taken(bench, queue, Femtoseconds(0)) ==
        "q0:0.0 q0:1.0, q0:2.0 q0:3.0, q0:0.0 q0:1.0, q1:0.0 q1:1.0, q0:0.1 q0:1.1");
}

TEST_CASE("ready: what is there goes, of any wave and step, after the window") {
  Bench bench;
  const OpId a = bench.add(OpKind::q, 3, 0, 0);
  const OpId b = bench.add(OpKind::q, 0, 0, 2);
  const OpId late = bench.add(OpKind::q, 1, 0, 1);
  BatchQueue queue(bench.program, gathering(Gather::ready, 10), bench.residents);
  queue.add(bench.program.graph[a], Femtoseconds(5));
  CHECK(queue.due() == Femtoseconds(15));
  queue.add(bench.program.graph[b], Femtoseconds(9));
  CHECK(queue.due() == Femtoseconds(15));  // of the first, not pushed on by the second
  CHECK(text_of(queue.take(Femtoseconds(15))) == "q0:0.2 q0:3.0");
  queue.add(bench.program.graph[late], Femtoseconds(16));
  CHECK(queue.due() == Femtoseconds(26));
}

TEST_CASE("ready: the window closes early once every resident is there, or the others have left") {
  Bench bench;
  for (const std::size_t request : {0U, 1U, 2U, 3U}) {
    bench.add(OpKind::q, request);
  }
  BatchQueue queue(bench.program, gathering(Gather::ready, 10), bench.residents);
  for (std::size_t i = 0; i < 3; ++i) {
    queue.add(bench.program.graph.operations[i], Femtoseconds(static_cast<std::int64_t>(i)));
  }
  CHECK(queue.due() == Femtoseconds(10));
  bench.residents = 3;
  CHECK(queue.due() == Femtoseconds(2));
  bench.residents = 4;
  queue.add(bench.program.graph.operations[3], Femtoseconds(4));
  CHECK(queue.due() == Femtoseconds(4));
  CHECK(queue.take(Femtoseconds(4)).members.size() == 4);
}

TEST_CASE("ready without a window goes at once") {
  Bench bench;
  const OpId only = bench.add(OpKind::q, 2);
  BatchQueue queue(bench.program, gathering(Gather::ready), bench.residents);
  queue.add(bench.program.graph[only], Femtoseconds(7));
  CHECK(queue.due() == Femtoseconds(7));
  CHECK(queue.take(Femtoseconds(7)).members.size() == 1);
}

TEST_CASE("sweeps have a policy of their own: here each request alone, products by wave") {
  Bench bench;
  for (const OpKind kind : {OpKind::sweep, OpKind::q}) {
    for (const std::size_t request : {1U, 0U}) {
      bench.add(kind, request);
    }
  }
  BatchQueue queue(bench.program, gathering(Gather::wave), bench.residents);
  for (const Operation& operation : bench.program.graph.operations) {
    queue.add(operation, Femtoseconds(0));
  }
  CHECK(taken(bench, queue, Femtoseconds(0)) == "q0:0.0 q0:1.0, sweep0:0.0, sweep0:1.0");
}

TEST_CASE("next is what another device awaits, then the longest ready, then program order") {
  Bench bench;
  struct Entry {
    OpKind kind;
    std::size_t request, layer, step, shard;
    std::int64_t ready;
    bool awaited;
  };
  const Entry entries[] = {
      {OpKind::ffn, 0, 0, 0, 0, 5, false}, {OpKind::kv, 1, 0, 0, 0, 5, false},
      {OpKind::kv, 0, 1, 0, 0, 5, false},  {OpKind::q, 0, 0, 1, 0, 5, false},
      {OpKind::ffn, 1, 2, 0, 0, 4, false}, {OpKind::o, 0, 3, 1, 0, 6, true},
      {OpKind::q, 1, 0, 0, 1, 5, false},   {OpKind::q, 3, 0, 0, 0, 5, false},
      {OpKind::q, 2, 0, 0, 0, 5, false},   {OpKind::lm_head, 0, 2, 2, 0, 3, true}};
  for (const Entry& e : entries) {
    const OpId id = bench.add(e.kind, e.request, e.layer, e.step, e.shard);
    bench.program.awaited_elsewhere[id.value()] = e.awaited;
  }
  BatchQueue queue(bench.program, gathering(Gather::request), bench.residents);
  std::size_t next = 0;
  for (const Entry& e : entries) {
    queue.add(bench.program.graph.operations[next++], Femtoseconds(e.ready));
  }
  CHECK(taken(bench, queue, Femtoseconds(9)) ==
        "lm_head2:0.2, o3:0.1, ffn2:1.0, q0:2.0, q0:3.0, q0:1.0, kv0:1.0, ffn0:0.0, kv1:0.0, "
        "q0:0.1");
}

TEST_CASE("what is due later stays, even if it outranks what is due now") {
  Bench bench;
  const OpId urgent = bench.add(OpKind::q, 0);
  const OpId plain = bench.add(OpKind::sweep, 0);
  bench.program.awaited_elsewhere[urgent.value()] = true;
  BatchQueue queue(bench.program, gathering(Gather::ready, 10), bench.residents);
  queue.add(bench.program.graph[urgent], Femtoseconds(0));
  queue.add(bench.program.graph[plain], Femtoseconds(1));
  CHECK(queue.due() == Femtoseconds(1));
  CHECK(text_of(queue.take(Femtoseconds(1))) == "sweep0:0.0");
  CHECK(queue.due() == Femtoseconds(10));
  CHECK(text_of(queue.take(Femtoseconds(10))) == "q0:0.0");
}

TEST_CASE("a batch is urgent if any member is") {
  Bench bench;
  const OpId a = bench.add(OpKind::q, 0);
  const OpId b = bench.add(OpKind::q, 1);
  const OpId other = bench.add(OpKind::embed, 0);
  const OpId another = bench.add(OpKind::embed, 1);
  bench.program.awaited_elsewhere[b.value()] = true;
  BatchQueue queue(bench.program, gathering(Gather::wave), bench.residents);
  for (const OpId id : {other, another, b, a}) {
    queue.add(bench.program.graph[id], Femtoseconds(0));
  }
  CHECK(text_of(queue.take(Femtoseconds(0))) == "q0:0.0 q0:1.0");
}

}  // namespace qfs
