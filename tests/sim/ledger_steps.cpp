#include <algorithm>

#include "base/random.hpp"
#include "sim/report/ledger.hpp"
#include "tests/sim/report_support.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

const WaveRequests one_request{RequestId(0), 1};

std::vector<StepLedger> ledgers_by_hand() {
  const ExecutionTable table = two_steps();
  return ledgers_of(table, steps_of(table), one_request);
}

/// The ledger's definition, one instant (unit) after the other.
StepLedger instant_by_instant(const ExecutionTable& table, const StepTime& step) {
  StepLedger ledger;
  for (Femtoseconds now = step.start; now < step.end; now += at(1)) {
    const auto runs = [&](auto wanted) {
      return std::any_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
        return row.fate == RowFate::used && row.start <= now && now < row.end && wanted(row);
      });
    };
    const auto is = [](OpKind op) {
      return [op](const Row& row) { return row.is_operation() && row.op == op; };
    };
    const auto is_static = [](const Row& row) {
      return row.is_operation() && row.op != OpKind::append && !is_of_sweep(row.op);
    };
    const auto is_message = [](const Row& row) { return row.is_message(); };
    const auto sweeps = [](const Row& row) { return row.is_operation() && is_of_sweep(row.op); };
    ledger.sweep_busy += at(runs(sweeps) ? 1 : 0);
    if (runs(is(OpKind::o)) || runs(is(OpKind::merge))) {
      ledger.merge_and_output += at(1);
    } else if (runs(is_static)) {
      ledger.compute += at(1);
    } else if (runs(sweeps)) {
      ledger.sweep_exposed += at(1);
    } else if (runs(is_message)) {
      ledger.link_exposed += at(1);
    } else {
      ledger.waiting += at(1);
    }
  }
  return ledger;
}

ExecutionTable random_table(std::uint64_t seed, std::size_t rows) {
  const Random random(seed, 0);
  TableMaker make;
  std::int64_t now = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t draw = 8 * i;
    now += static_cast<std::int64_t>(random.below(draw, 12));
    const std::int64_t end = now + static_cast<std::int64_t>(random.below(draw + 1, 15));
    const std::size_t step = std::min<std::size_t>(3, 4 * i / rows);
    const auto fate = static_cast<RowFate>(random.below(draw + 4, enum_names<RowFate>.size()));
    if (random.below(draw + 2, 4) == 0) {
      make.message(step, to_cache, {ValueKind::q}, now, end).fate = fate;
    } else {
      const auto op = static_cast<OpKind>(random.below(draw + 3, enum_names<OpKind>.size()));
      make.operation(step, compute, op, now, end).fate = fate;
    }
  }
  return make.table();
}

}  // namespace

TEST_CASE("the ledger of a step is what one adds up by hand") {
  const StepLedger ledger = ledgers_by_hand().at(0);
  CHECK(ledger.merge_and_output == at(10));  // 70..80
  CHECK(ledger.compute == at(70));           // 0..50, 80..100
  CHECK(ledger.sweep_exposed == at(10));     // 50..60
  CHECK(ledger.link_exposed == at(8));       // 60..68
  CHECK(ledger.waiting == at(2));            // 68..70
  REQUIRE(ledger.waiting_for.size() == 1);
  CHECK(ledger.waiting_for[0].op == OpKind::merge);
  CHECK(ledger.waiting_for[0].time == at(2));
  CHECK(ledger.total() == at(100));
  CHECK(ledger.sweep_busy == at(43));
  CHECK(ledger.sweep_hidden() == at(33));
  CHECK(ledger.hidden_share() == Approx(33.0 / 43.0));
}

TEST_CASE("a step ends with what was used, and what was done in vain is no part of it") {
  ExecutionTable table = two_steps();
  Row in_vain = table.rows[11];  // the LM head of step 0, once more and later
  in_vain.fate = RowFate::dropped;
  in_vain.start = at(104);
  in_vain.end = at(165);
  table.add(in_vain);
  Row lost = table.rows[8];
  lost.fate = RowFate::lost;
  lost.end = at(70);
  table.add(lost);
  const std::vector<StepTime> steps = steps_of(table);
  CHECK(steps[0].end == at(100));
  CHECK(steps[1].end == at(170));
  const auto ledgers = ledgers_of(table, steps, one_request);
  CHECK(ledgers[0].link_exposed == at(8));
  CHECK(ledgers[0].waiting == at(2));
  CHECK(ledgers[1].compute == at(10));
}

TEST_CASE("waiting is for an append in progress, else for what starts next") {
  const StepLedger ledger = ledgers_by_hand().at(1);
  CHECK(ledger.compute == at(10));
  CHECK(ledger.link_exposed == at(15));
  CHECK(ledger.sweep_exposed == at(25));
  CHECK(ledger.merge_and_output == at(12));
  REQUIRE(ledger.waiting_for.size() == 2);
  CHECK(ledger.waiting_for[0].op == OpKind::append);  // 117..122
  CHECK(ledger.waiting_for[0].time == at(5));
  CHECK(ledger.waiting_for[1].op == OpKind::sweep);  // 122..125
  CHECK(ledger.waiting_for[1].time == at(3));
  CHECK(ledger.total() == at(70));
}

TEST_CASE("an operation that takes no time is waited for until it starts") {
  TableMaker make;
  make.operation(0, compute, OpKind::q, 0, 10);
  make.operation(0, compute, OpKind::merge, 14, 14);
  make.operation(0, compute, OpKind::o, 20, 30);
  const StepLedger ledger = ledgers_of(make.table(), steps_of(make.table()), one_request).at(0);
  REQUIRE(ledger.waiting_for.size() == 2);
  CHECK(ledger.waiting_for[0].op == OpKind::merge);
  CHECK(ledger.waiting_for[0].time == at(4));
  CHECK(ledger.waiting_for[1].op == OpKind::o);
  CHECK(ledger.waiting_for[1].time == at(6));
}

TEST_CASE("a ledger without a sweep hides nothing") {
  CHECK(StepLedger{}.hidden_share() == 0);
  CHECK(ledgers_of(ExecutionTable{}, {}, one_request).empty());
}

TEST_CASE("rows of other waves do not enter a wave's ledger") {
  TableMaker make;
  make.operation(0, compute, OpKind::q, 0, 10);
  make.operation(0, compute, OpKind::q, 10, 20).members = {{RequestId(1), StepId(0)}};
  make.operation(0, compute, OpKind::o, 20, 30).members = {{RequestId(1), StepId(0)},
                                                           {RequestId(0), StepId(0)}};
  const auto steps = steps_of(make.table());
  const StepLedger first = ledgers_of(make.table(), steps, one_request).at(0);
  CHECK(first.compute == at(10));
  CHECK(first.waiting == at(10));
  CHECK(first.total() == at(30));
  CHECK(ledgers_of(make.table(), steps, {RequestId(0), 2}).at(0).compute == at(20));
}

TEST_CASE("random tables: each instant is counted once and rightly") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const ExecutionTable table = random_table(seed, 60);
    const auto steps = steps_of(table);
    const auto ledgers = ledgers_of(table, steps, one_request);
    REQUIRE(ledgers.size() == steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const StepLedger& ledger = ledgers[i];
      const StepLedger expected = instant_by_instant(table, steps[i]);
      REQUIRE(ledger.total() == steps[i].length());
      CHECK(ledger.merge_and_output == expected.merge_and_output);
      CHECK(ledger.compute == expected.compute);
      CHECK(ledger.sweep_exposed == expected.sweep_exposed);
      CHECK(ledger.link_exposed == expected.link_exposed);
      CHECK(ledger.waiting == expected.waiting);
      CHECK(ledger.sweep_busy == expected.sweep_busy);
      Femtoseconds waiting{0};
      for (const WaitingFor& wait : ledger.waiting_for) {
        waiting += wait.time;
      }
      CHECK(waiting == ledger.waiting);
    }
  }
}

TEST_CASE("a table of a hundred thousand rows has a ledger") {
  const ExecutionTable table = random_table(1, 100'000);
  const auto steps = steps_of(table);
  const auto ledgers = ledgers_of(table, steps, one_request);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(ledgers.at(i).total() == steps[i].length());
  }
}
