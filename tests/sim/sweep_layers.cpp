// Sweeps of which a few layers are simulated where these stand for all.
#include <string>

#include "sim/config/system_config.hpp"
#include "sim/sweep/figures_archive.hpp"
#include "sim/sweep/point_keys.hpp"
#include "sim/sweep/repeating_layers.hpp"
#include "sim/sweep/sweep_points.hpp"
#include "sim/sweep/sweep_report.hpp"
#include "system/simulation.hpp"
#include "tests/sim/sweep_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

/// 40 points of 40 layers; of single_q nothing repeats, as its sweeps run ahead of all else.
std::string mixed(const std::string& layers) {
  return R"(
name: mixed
run: base.yaml
layers: )" +
         layers + R"(
axes:
  workload.context: {from: 8, to: 512, steps: 10, scale: log}
variants:
  standard: {block: standard, model.layers: 40, workload.tokens: 2, cache_device.capacity: unlimited}
  early_q:  {block: early_q, model.layers: 40, workload.tokens: 2, cache_device.capacity: unlimited}
  single_q: {block: single_q, model.layers: 40, workload.tokens: 2, cache_device.capacity: unlimited}
  jitter:   {block: early_q, model.layers: 40, workload.tokens: 1, cache_device.capacity: unlimited, link.jitter: 1 us}
)";
}

SweepConfig load(const ConfigFolder& folder, const std::string& layers) {
  folder.write("base.yaml", swept_run);
  return load_sweep_config(folder.write(layers + ".yaml", mixed(layers)));
}

}  // namespace

TEST_CASE("a sweep of layers that repeat has the figures of all, and says what it simulated") {
  const ConfigFolder folder;
  const SweepResult few = run_sweep(load(folder, "repeating"), 2);
  const SweepResult all = run_sweep(load(folder, "all"), 2);
  REQUIRE(few.points.size() == 40);
  for (std::size_t i = 0; i < few.points.size(); ++i) {
    const SweepPoint& point = few.points[i];
    CAPTURE(point.variant, point.values, point.reason);
    REQUIRE(point.ran());
    CHECK(all.points[i].figures.simulated_layers == 40);
    const bool repeats = point.figures.simulated_layers < 40;
    CHECK((point.variant == 2 || repeats == (point.variant < 2)));
    PointFigures figures = point.figures;
    figures.simulated_layers = 40;
    CHECK(packed(figures) == packed(all.points[i].figures));
  }
  CHECK(results_csv(few) == results_csv(run_sweep(few.config, 1)));
}

TEST_CASE("layers do not repeat if one row is a femtosecond late, or waits for another token") {
  const ConfigFolder folder;
  const SweepConfig config = load(folder, "repeating");
  const SweepSpace space(config);
  const RunConfig run = PointMaker(config).make(space.at(1));
  REQUIRE(run.workload.tokens == 2);
  REQUIRE(may_repeat(run));
  RunConfig few = with_few_layers(run);
  const SystemConfig system = timing_config(few, few.block, few.workload.context);
  few.workload.batch /= system.rules.alike;
  const ExecutionTable table = simulate(system).table;
  const auto repeats = [&](const ExecutionTable& changed) {
    return layers_left_out(few, run.model.layers, changed).has_value();
  };
  REQUIRE(repeats(table));
  std::size_t late = 0;
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Row& row = table.rows[i];
    CAPTURE(i, name_of(row.op), row.layer.value(), row.step.value());
    if (row.layer == LayerId(5)) {
      ExecutionTable changed = table;
      changed.rows[i].end += Femtoseconds(1);
      CHECK_FALSE(repeats(changed));
      ++late;
    }
    for (const Dependency& dep : row.deps) {
      const Row& before = table.rows[dep.row.value()];
      if (before.op == OpKind::append && before.is_operation() && before.step != row.step) {
        ExecutionTable changed = table;
        changed.rows[i].ready = dep.arrival;
        CHECK_FALSE(repeats(changed));
        ++waiting;
      }
    }
  }
  CHECK(late == 2 * 10);                   // rows of a layer and token
  CHECK(waiting == 2 * few.model.layers);  // sweep and append of the second token
}

TEST_CASE("on DRAM layers that repeat come close to all") {
  const ConfigFolder folder;
  const std::string device =
      "{memory: stream, dram: hbm3-6400, dram_parts: 6, capacity: unlimited, mac_rate: 494.5 "
      "TMAC/s, "
      "launch_overhead: 1.8 us}";
  const auto swept_with = [&](const std::string& layers) {
    return run_sweep(
        load_sweep_config(folder.write(
            layers + "-dram.yaml",
            "name: dram\nrun: " + source_dir() + "/configs/runs/two-h200.yaml\nlayers: " + layers +
                "\naxes:\n  workload.context: [512, 8 Ki, 128 Ki]\n"
                "  workload.batch: [1, 8, 64]\nvariants:\n"
                "  early_q: {model: qwen3-4b, block: early_q, workload.tokens: 1, "
                "compute_device: " +
                device + ", cache_device: " + device + "}\n")),
        2);
  };
  const SweepResult few = swept_with("repeating");
  const SweepResult all = swept_with("all");
  for (std::size_t i = 0; i < all.points.size(); ++i) {
    CAPTURE(few.points[i].values, few.points[i].reason);
    REQUIRE(few.points[i].ran());
    const PointFigures& figures = few.points[i].figures;
    const PointFigures& exact = all.points[i].figures;
    CHECK(figures.simulated_layers == 9);
    CHECK(exact.simulated_layers == 36);
    CHECK(figures.tpot_us == Approx(exact.tpot_us).epsilon(0.005));
    CHECK(figures.tpot_us != exact.tpot_us);
    CHECK(figures.wire_bytes == exact.wire_bytes);
  }
}

TEST_CASE("a store does not take points by a few layers for points by all") {
  const ConfigFolder folder;
  const SweepConfig few = load(folder, "repeating");
  const SweepConfig all = load(folder, "all");
  const SweepSpace space(few);
  PointMaker maker(few);
  for (std::uint64_t index = 0; index < space.points(); ++index) {
    const SweepPoint point = space.at(index);
    const RunConfig run = maker.make(point);
    CAPTURE(point.variant, point.values);
    CHECK((key_of(few, run) == key_of(all, run)) == (point.variant == 3));
  }
}

}  // namespace qfs::test
