// A schedule with one fault in it is caught in every arrangement, at the operation that it strikes.
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sim/run/isolate.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/numeric_run.hpp"

namespace qfs {
namespace {

using test::NumericCase;
using test::NumericRun;

struct FaultyCase {
  NumericCase numeric_case;
  OpKind first;  // the operation at which the check must fail first
};

/// Every arrangement once or more, with sweeps that outlast everything else.
std::vector<NumericCase> all_arrangements() {
  NumericCase base;
  base.cache_bytes_per_s = 1e7;
  base.contexts = {40, 9, 37, 12};
  std::vector<NumericCase> cases(8, base);
  cases[1].split = {3, SplitBy::positions};
  cases[2].split = {2, SplitBy::heads, MergeOrder::arrival};
  cases[3].arrangement = Arrangement::pooled;
  cases[4].arrangement = Arrangement::pooled;
  cases[4].split = {3, SplitBy::any, MergeOrder::tree};
  cases[4].pool.instances = 2;
  cases[5].arrangement = Arrangement::pooled;
  cases[5].pool.projections = Projections::pool;
  cases[6].arrangement = Arrangement::colocated;
  cases[7].arrangement = Arrangement::tensor_parallel;
  cases[7].ranks = 2;
  return cases;
}

/// In layer 1 of the second token.
Fault fault_of(FaultKind kind, OpKind operation = OpKind::ffn,
               ValueKind value = ValueKind::residual) {
  return {kind, LayerId(1), StepId(1), operation, value};
}

void check_caught(const std::vector<FaultyCase>& cases) {
  std::vector<std::function<NumericRun()>> tasks;
  for (const FaultyCase& c : cases) {
    tasks.emplace_back([&c] { return test::run_numeric(c.numeric_case); });
  }
  const std::vector<NumericRun> runs = run_isolated(tasks, default_jobs());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const NumericReport& report = runs[i].report;
    CAPTURE(test::text_of(cases[i].numeric_case), name_of(cases[i].numeric_case.fault.kind));
    CHECK(!report.passed());
    REQUIRE(!report.failures.empty());
    CHECK(name_of(report.failures.front().kind) == name_of(cases[i].first));
    CHECK(report.failures.front().layer == LayerId(1));
    CHECK(report.failures.front().step == StepId(1));
    CHECK(report.graph_passed());  // the graph is right, the run was not
  }
}

std::vector<FaultyCase> everywhere(const Fault& fault, OpKind first) {
  std::vector<FaultyCase> cases;
  for (NumericCase& c : all_arrangements()) {
    c.fault = fault;
    cases.push_back({c, first});
  }
  return cases;
}

/// Whether the sweeps of the arrangement get their query over a link.
bool query_travels(const NumericCase& c) {
  switch (c.arrangement) {
    case Arrangement::two_device:
      return true;
    case Arrangement::pooled:
      return c.split.devices > 1 || c.pool.projections == Projections::pool;
    default:
      return false;
  }
}

}  // namespace

TEST_CASE("the cases without a fault pass") {
  std::vector<std::function<NumericRun()>> tasks;
  for (const NumericCase& c : all_arrangements()) {
    tasks.emplace_back([c] { return test::run_numeric(c); });
  }
  for (const NumericRun& run : run_isolated(tasks, default_jobs())) {
    CHECK(run.report.passed());
  }
}

TEST_CASE("caught everywhere: one position left out of the sweep of a shard") {
  check_caught(everywhere(fault_of(FaultKind::skip_position), OpKind::sweep));
}

TEST_CASE("caught everywhere: k and v swapped on their way into the cache") {
  check_caught(everywhere(fault_of(FaultKind::swap_kv), OpKind::append));
}

TEST_CASE("caught everywhere: a merge that does not wait for the partial results") {
  std::vector<FaultyCase> cases =
      everywhere(fault_of(FaultKind::drop_edge, OpKind::merge, ValueKind::partial), OpKind::merge);
  for (FaultyCase& c : cases) {
    c.numeric_case.block = BlockOrder::swapped;  // the sweep comes last, even on one device
  }
  check_caught(cases);
}

TEST_CASE("caught everywhere: the weights of another layer") {
  check_caught(everywhere(fault_of(FaultKind::wrong_weights, OpKind::o), OpKind::o));
}

TEST_CASE("caught on ranks: a sum that does not wait for all shares") {
  std::vector<FaultyCase> cases;
  for (const OpKind reduce : {OpKind::reduce_o, OpKind::reduce_ffn}) {
    NumericCase c = all_arrangements().back();
    c.fault = fault_of(FaultKind::drop_edge, reduce, ValueKind::sum);
    cases.push_back({c, reduce});
  }
  check_caught(cases);
}

TEST_CASE("caught wherever the query travels: it arrives off by one part in a thousand") {
  std::vector<FaultyCase> travelling;
  std::size_t refused = 0;
  for (NumericCase& c : all_arrangements()) {
    c.fault = fault_of(FaultKind::alter_in_flight);
    if (query_travels(c)) {
      travelling.push_back({c, OpKind::sweep});
      continue;
    }
    const std::vector<std::function<NumericRun()>> task{[&c] { return test::run_numeric(c); }};
    CHECK_THROWS_AS(run_isolated(task, 1), ConfigError);
    ++refused;
  }
  CHECK(travelling.size() == 5);
  CHECK(refused == 3);
  check_caught(travelling);
}

}  // namespace qfs
