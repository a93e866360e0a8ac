// One request that stands for all of its wave against every request by itself: seeded random runs
// in every arrangement, figure by figure, and the rows' work.
#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.hpp"
#include "sim/config/cost_load.hpp"
#include "sim/config/dram_load.hpp"
#include "sim/config/system_config.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "sim/sweep/point_figures.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr std::uint64_t cases = 160;

class Draw {
 public:
  explicit Draw(std::uint64_t number) : random_(31, number) {}
  std::size_t between(std::size_t low, std::size_t high) {
    return low + static_cast<std::size_t>(random_.below(next_++, high - low + 1));
  }
  bool one_in(std::size_t chances) { return between(1, chances) == 1; }
  double uniform(double low, double high) { return random_.uniform(next_++, low, high); }
  template <class Enum>
  Enum one_of() {
    return enum_names<Enum>[between(0, enum_names<Enum>.size() - 1)].first;
  }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

void draw_device(Draw& draw, DeviceConfig& device, bool measured) {
  device.bandwidth = BytesPerSecond(draw.uniform(1e9, 1e11));
  device.mac_rate = MacsPerSecond(draw.uniform(1e10, 1e12));
  device.exp_rate = ExpsPerSecond(draw.uniform(1e9, 1e11));
  if (measured) {
    device.kernels = load_fitted_named(draw.one_in(2) ? "h100" : "l40s");
  } else if (draw.one_in(4)) {
    device.memory = MemoryTier::stream;
    device.dram = load_dram_named(draw.one_in(2) ? "ddr5-4800" : "hbm2");
  } else {
    device.launch_overhead = Seconds(draw.uniform(0, 1e-6));
  }
}

RunConfig drawn_run(std::uint64_t number) {
  Draw draw(number);
  const bool measured = draw.one_in(3);
  RunConfig run;
  run.model = test::shape_with_heads(4);
  run.arrangement = enum_names<Arrangement>[number % 4].first;
  run.block = draw.one_of<BlockOrder>();
  run.current_token = draw.one_of<CurrentToken>();
  run.numerics.mode = NumericsMode::off;
  if (!measured) {
    run.attention.form = draw.one_of<AttentionForm>();
    run.attention.growth = draw.one_of<CacheGrowth>();
    if (run.attention.form == AttentionForm::minimal && draw.one_in(3)) {
      run.attention.softmax.unit.kind = SoftmaxKind::fwm;
      run.attention.score_buffer = Bytes(static_cast<std::int64_t>(draw.between(0, 20'000)));
    }
  }
  run.workload.batch = draw.between(2, 9);
  run.workload.in_flight = draw.between(1, 3);
  run.workload.context = draw.between(0, 300);
  run.workload.tokens = draw.between(1, 3);
  run.workload.lm_head = draw.one_in(2);
  if (run.arrangement == Arrangement::two_device || run.arrangement == Arrangement::pooled) {
    run.cache.split.devices = draw.one_in(2) ? 1 : 2;
    run.cache.split.by = draw.one_in(2) ? SplitBy::heads : SplitBy::positions;
    run.cache.ports = draw.one_of<Ports>();
  }
  if (run.arrangement == Arrangement::pooled) {
    run.pool.batching = draw.one_in(2) ? Gather::ready : Gather::wave;
    run.pool.sweep_batch = draw.one_in(2) ? Gather::ready : Gather::wave;
    const bool projections = run.block != BlockOrder::single_q && draw.one_in(2);
    run.pool.projections = projections ? ProjectionsChoice::pool : ProjectionsChoice::cache_side;
  }
  draw_device(draw, run.compute_device, measured);
  draw_device(draw, run.cache_device, measured);
  run.link.latency = Seconds(draw.uniform(0, 1e-5));
  run.link.bandwidth = BytesPerSecond(draw.uniform(1e8, 1e10));
  run.link.message_overhead = Seconds(draw.uniform(0, 1e-6));
  run.link.jitter = Seconds(draw.one_in(3) ? 2e-6 : 0);
  return run;
}

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
    const RunConfig run = drawn_run(number);
    for (const bool alike : {false, true}) {
      tasks.emplace_back([run, alike] { return seen(run, alike); });
    }
  }
  const std::vector<Seen> all = run_isolated(tasks, default_jobs());
  for (std::uint64_t number = 0; number < cases; ++number) {
    const RunConfig run = drawn_run(number);
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
  RunConfig run = drawn_run(1);
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
