#include "tests/bounds/drawn_run.hpp"

#include "sim/config/cost_load.hpp"
#include "sim/config/dram_load.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/simulated.hpp"

namespace qfs::test {
namespace {

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

}  // namespace

RunConfig drawn_run(std::uint64_t number) {
  Draw draw(31, number);
  const bool measured = draw.one_in(3);
  RunConfig run;
  run.model = shape_with_heads(4);
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

}  // namespace qfs::test
