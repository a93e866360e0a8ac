// The collection window of a pool, as it stands in the table: how long each launch let others join.
#include <algorithm>
#include <string>

#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/numeric_run.hpp"

namespace qfs::test {
namespace {

constexpr std::size_t requests = 4;

/// Four requests of different contexts, each swept by itself.
ExecutionTable simulated(Seconds waits) {
  NumericCase c;
  c.arrangement = Arrangement::pooled;
  c.contexts = {5, 90, 400, 30};
  c.wave = requests;
  c.pool.batching = {Gather::ready, Gather::request, waits};
  const auto task = [&c] { return simulate(system_config(c)); };
  return run_isolated<SimulationResult>({task}, 1).front().table;
}

bool is_window(const Row& row) { return row.kind == RowKind::window; }

}  // namespace

TEST_CASE("a window stands before its launch, which begins when it closes or later") {
  std::size_t full = 0;
  std::size_t early = 0;
  for (const Seconds window : {Seconds(5e-6), Seconds(1e-3)}) {
    const ExecutionTable table = simulated(window);
    for (const Row& row : table.rows) {
      if (!is_window(row)) {
        continue;
      }
      const Row& launch = table.rows.at(row.id.value() + 1);
      CAPTURE(row.id.value(), name_of(row.op), row.members.size());
      CHECK(table.resources[row.resource].name ==
            table.resources[launch.resource].name + ".windows");
      CHECK(launch.is_operation());
      CHECK(launch.op == row.op);
      CHECK(launch.layer == row.layer);
      CHECK(launch.members == row.members);
      CHECK(launch.start >= row.end);
      CHECK(row.work.memory_bytes() == Bytes(0));
      const Femtoseconds length = row.end - row.start;
      CHECK(length <= to_femtoseconds(window));
      if (length < to_femtoseconds(window)) {  // the last request joined, of those still decoding
        CHECK(row.end == launch.ready);
        CHECK((row.members.size() == requests || row.step == StepId(2)));
      }
      ++(length == to_femtoseconds(window) ? full : early);
    }
  }
  CHECK(full > 0);
  CHECK(early > 0);
}

TEST_CASE("only launches wait for more to join: what takes none goes on at once") {
  for (const Row& row : simulated(Seconds(5e-6)).rows) {
    if (is_window(row)) {
      CAPTURE(name_of(row.op));
      CHECK((row.op == OpKind::q || row.op == OpKind::kv || row.op == OpKind::o ||
             row.op == OpKind::ffn || row.op == OpKind::lm_head));
    } else if (row.is_operation() && (row.op == OpKind::merge || row.op == OpKind::append)) {
      CHECK(row.start == row.ready);
    }
  }
}

TEST_CASE("without a window no launch waits and no device has a place for it") {
  const ExecutionTable table = simulated(Seconds(0));
  CHECK(std::none_of(table.rows.begin(), table.rows.end(), is_window));
  for (const Resource& resource : table.resources) {
    CHECK(resource.kind != ResourceKind::windows);
  }
}

}  // namespace qfs::test
