// One request that stands for all of its wave against every request by itself: seeded random runs
// in every arrangement, figure by figure, and the rows' work.
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/config/system_config.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "sim/sweep/point_figures.hpp"
#include "tests/bounds/drawn_run.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr std::uint64_t cases = 160;

/// Of a run: figures, and all work and bytes of its table.
struct Seen {
  PointFigures figures;
  std::int64_t memory_bytes = 0;
  std::int64_t macs = 0;
  std::int64_t exps = 0;
  std::int64_t wire_bytes = 0;
  std::size_t launches = 0;
  std::size_t rows = 0;

  template <class Archive>
  void serialize(Archive& archive, unsigned /*version*/) {
    archive& figures.step_us& figures.tpot_us& figures.worst_tpot_us& figures.tokens_per_s;
    archive& figures.exposed_sweep_us& figures.exposed_link_us;
    archive& memory_bytes& macs& exps& wire_bytes& launches& rows;
  }
};

Seen seen(const RunConfig& run, bool alike) {
  const SystemConfig system = alike ? timing_config(run, run.block, run.workload.context)
                                    : system_config(run, run.block, run.workload.context);
  RunConfig told = run;
  told.workload.batch /= system.rules.alike;
  const ExecutionTable table = simulate(system).table;
  Seen result;
  result.figures = figures_of(told, table);
  result.figures.tokens_per_s *= static_cast<double>(system.rules.alike);
  for (const Row& row : table.rows) {
    result.memory_bytes += row.work.memory_bytes().value();
    result.macs += row.work.macs.value();
    result.exps += row.work.exps.value();
    result.wire_bytes += row.wire_bytes.value();
    result.launches += static_cast<std::size_t>(row.work.launches);
    ++result.rows;
  }
  return result;
}

}  // namespace

TEST_CASE("160 random runs: one request that stands for its wave takes the time of all") {
  std::vector<std::function<Seen()>> tasks;
  for (std::uint64_t number = 0; number < cases; ++number) {
    const RunConfig run = test::drawn_run(number);
    for (const bool alike : {false, true}) {
      tasks.emplace_back([run, alike] { return seen(run, alike); });
    }
  }
  const std::vector<Seen> all = run_isolated(tasks, default_jobs());
  for (std::uint64_t number = 0; number < cases; ++number) {
    const RunConfig run = test::drawn_run(number);
    const Seen& each = all.at(2 * number);
    const Seen& one = all.at(2 * number + 1);
    CAPTURE(number, name_of(run.arrangement), name_of(run.block), name_of(run.current_token));
    CAPTURE(run.workload.batch, run.workload.in_flight, name_of(run.attention.form));
    REQUIRE(alike_requests(run, run.workload.context) == run.workload.batch);
    CHECK(one.figures.step_us == each.figures.step_us);  // to the femtosecond
    CHECK(one.figures.exposed_sweep_us == each.figures.exposed_sweep_us);
    CHECK(one.figures.exposed_link_us == each.figures.exposed_link_us);
    CHECK(one.figures.tpot_us == Approx(each.figures.tpot_us).epsilon(1e-12));
    CHECK(one.figures.worst_tpot_us == Approx(each.figures.worst_tpot_us).epsilon(1e-12));
    CHECK(one.figures.tokens_per_s == Approx(each.figures.tokens_per_s).epsilon(1e-12));
    CHECK(one.memory_bytes == each.memory_bytes);
    CHECK(one.macs == each.macs);
    CHECK(one.exps == each.exps);
    CHECK(one.wire_bytes == each.wire_bytes);
    CHECK(one.launches == each.launches);
    CHECK(one.rows == each.rows);
  }
}

TEST_CASE("requests that can go apart stand for themselves") {
  RunConfig run = test::drawn_run(1);
  run.arrangement = Arrangement::pooled;
  const auto alike = [](const RunConfig& given) {
    return alike_requests(given, given.workload.context);
  };
  REQUIRE(alike(run) == run.workload.batch);
  const auto with = [&](const std::function<void(RunConfig&)>& change) {
    RunConfig changed = run;
    change(changed);
    return alike(changed);
  };
  CHECK(with([](RunConfig& r) { r.pool.instances = 2; }) == 1);
  CHECK(with([](RunConfig& r) { r.pool.window = Seconds(1e-6); }) == 1);
  CHECK(with([](RunConfig& r) { r.pool.batching = Gather::request; }) == 1);
  CHECK(with([](RunConfig& r) { r.pool.sweep_batch = Gather::request; }) == 1);
  CHECK(with([](RunConfig& r) { r.faults.stalls.probability = 0.5; }) == 1);
  CHECK(with([](RunConfig& r) { r.cache.policy.prefetch.ahead = 1; }) == 1);
  CHECK(with([](RunConfig& r) {
          r.cache.split.devices = 2;
          r.cache.split.by = SplitBy::any;
        }) == 1);
  CHECK(with([](RunConfig& r) {
          r.workload.request_contexts.assign(r.workload.batch, 7);
          r.workload.request_contexts.front() = 8;
        }) == 1);
}

}  // namespace qfs
