// Every stack time of DESIGN.md 7 for the orders and arrangements built, and the crossovers, found
// by the simulator.
#include <vector>

#include "sim/run/crossover_search.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr double printed = 1e-6;  // relative; the tables have three decimals of a microsecond

struct Cell {
  ModelShape shape;
  BlockOrder block;
  double latency_us;
  std::size_t context;
  double compute_tb_per_s;
  double cache_tb_per_s;
  double stack_us;
  Arrangement arrangement = Arrangement::two_device;
};

AnalyticParameters parameters_of(const Cell& cell) {
  AnalyticParameters parameters =
      test::ideal(cell.shape, cell.block, cell.context, cell.latency_us);
  parameters.compute.bandwidth = BytesPerSecond(cell.compute_tb_per_s * 1e12);
  parameters.cache.bandwidth = BytesPerSecond(cell.cache_tb_per_s * 1e12);
  return parameters;
}

void check_cells(const std::vector<Cell>& cells) {
  std::vector<std::function<SimulationResult()>> tasks;
  for (const Cell& cell : cells) {
    const SystemConfig config = test::system_config(parameters_of(cell), cell.arrangement);
    tasks.push_back([config] { return simulate(config); });
  }
  const std::vector<SimulationResult> results = run_isolated(tasks, default_jobs());
  REQUIRE(results.size() == cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    CAPTURE(name_of(cells[i].block), cells[i].context, cells[i].latency_us);
    CHECK(to_microseconds(test::last_output(results[i].table, StepId(0))) ==
          Approx(cells[i].stack_us).epsilon(printed));
  }
}

/// A row of the tables: standard and swapped take equally long, and so do early_q, early_qk and
/// parallel. Zero where DESIGN.md prints nothing.
struct Stacks {
  double standard;
  double early_q;
  double early_k = 0;
  double shifted_q = 0;
  double single_q = 0;
};

void add_row(std::vector<Cell>& cells, const ModelShape& shape, double latency, std::size_t context,
             const Stacks& us, double compute = 1, double cache = 1) {
  const auto add = [&](BlockOrder block, double stack) {
    if (stack > 0) {
      cells.push_back({shape, block, latency, context, compute, cache, stack});
    }
  };
  add(BlockOrder::standard, us.standard);
  add(BlockOrder::swapped, us.standard);
  add(BlockOrder::early_q, us.early_q);
  add(BlockOrder::early_qk, us.early_q);
  add(BlockOrder::parallel, us.early_q);
  add(BlockOrder::early_k, us.early_k);
  add(BlockOrder::shifted_q, us.shifted_q);
  add(BlockOrder::single_q, us.single_q);
}

RunConfig crossover_config(const ModelShape& shape, double latency_us) {
  RunConfig config;
  config.model = shape;
  config.block = BlockOrder::early_q;
  config.compare = {BlockOrder::standard};
  config.accounting = Accounting::weights_and_sweep;
  config.link.latency = Seconds(latency_us * 1e-6);
  return config;
}

void check_crossovers(const ModelShape& shape, double latency_us, double ffn, double latency) {
  const std::vector<Crossover> found = find_crossovers(crossover_config(shape, latency_us));
  REQUIRE(found.size() == 3);
  CHECK(found[0].kind == CrossoverKind::ffn);
  CHECK(found[0].simulated == Approx(ffn).margin(1e-3));
  CHECK(found[1].kind == CrossoverKind::latency);
  CHECK(found[1].block == BlockOrder::early_q);
  CHECK(found[1].simulated == Approx(latency).margin(1e-3));
  REQUIRE(found[1].closed_form.has_value());
  CHECK(found[1].simulated == Approx(*found[1].closed_form).margin(1e-3));
}

}  // namespace

TEST_CASE("stack times of Qwen3-0.6B") {
  std::vector<Cell> cells;
  const ModelShape shape = test::qwen3_0_6b();
  add_row(cells, shape, 0, 1024, {880.804, 880.804, 939.524, 880.804, 880.804});
  add_row(cells, shape, 0, 4608, {1291.846, 880.804, 1350.566, 895.484, 880.804});
  add_row(cells, shape, 0, 5632, {1409.286, 880.804, 1468.006, 899.678, 880.804});
  add_row(cells, shape, 0, 16384, {2642.412, 2113.929, 2701.132, 2132.804, 1906.311});
  add_row(cells, shape, 0, 65536, {8279.556, 7751.074, 8338.276, 7769.948, 7543.456});
  add_row(cells, shape, 5, 1024, {1160.804, 880.804, 1219.524, 890.804, 880.804});
  add_row(cells, shape, 5, 5632, {1689.286, 1160.804, 1748.006, 1179.678, 880.804});
  add_row(cells, shape, 5, 65536, {8559.556, 8031.074, 8618.276, 8049.948, 7553.456});
  check_cells(cells);
}

TEST_CASE("stack times of Qwen3-4B") {
  std::vector<Cell> cells;
  add_row(cells, test::qwen3_4b(), 0, 16384, {9305.063, 7266.632});
  add_row(cells, test::qwen3_4b(), 0, 65536, {16552.821, 11173.626, 0, 0, 9855.042});
  add_row(cells, test::qwen3_4b(), 5, 16384, {9665.063, 7266.632, 9853.807, 7333.255});
  check_cells(cells);
}

TEST_CASE("stack times with unequal bandwidths") {
  std::vector<Cell> cells;
  add_row(cells, test::qwen3_0_6b(), 5, 16384, {2349.889, 2217.768, 0, 2222.487}, 4, 1);
  add_row(cells, test::qwen3_0_6b(), 5, 16384, {1513.125, 984.643, 0, 1003.517}, 1, 4);
  check_cells(cells);
}

TEST_CASE("stack times with a pool") {
  std::vector<Cell> cells;
  const auto add = [&](const ModelShape& shape, double latency, std::size_t context, double stack,
                       double compute = 1, double cache = 1) {
    cells.push_back(
        {shape, BlockOrder::early_q, latency, context, compute, cache, stack, Arrangement::pooled});
  };
  const ModelShape small = test::qwen3_0_6b();
  add(small, 0, 1024, 763.363);
  add(small, 0, 4608, 763.363);
  add(small, 0, 5632, 880.804);
  add(small, 0, 16384, 2113.929);
  add(small, 0, 65536, 7751.074);
  add(small, 5, 1024, 1043.363);
  add(small, 5, 5632, 1043.363);
  add(small, 5, 65536, 7751.074);
  add(small, 5, 16384, 2113.929, 4, 1);
  add(small, 5, 16384, 955.283, 1, 4);
  const ModelShape large = test::qwen3_4b();
  add(large, 0, 16384, 6511.657);
  add(large, 0, 65536, 11173.626);
  add(large, 5, 16384, 6871.657);
  check_cells(cells);
}

TEST_CASE("stack times on one device") {
  std::vector<Cell> cells;
  for (const auto& [block, name] : enum_names<BlockOrder>) {
    cells.push_back({test::qwen3_0_6b(), block, 0, 1024, 1, 1, 998.244, Arrangement::colocated});
    cells.push_back({test::qwen3_0_6b(), block, 0, 65536, 1, 1, 8396.997, Arrangement::colocated});
  }
  check_cells(cells);
}

TEST_CASE("crossovers of Qwen3-0.6B") {
  check_crossovers(test::qwen3_0_6b(), 0, 4608, 5632);
  check_crossovers(test::qwen3_0_6b(), 5, 4608, 3190.594);
}

TEST_CASE("crossovers of Qwen3-4B") {
  check_crossovers(test::qwen3_4b(), 0, 36480, 39040);
  check_crossovers(test::qwen3_4b(), 5, 36480, 36598.594);
}

TEST_CASE("the crossover of every block order is where its closed form has it") {
  for (const Accounting accounting : {Accounting::weights_and_sweep, Accounting::full}) {
    RunConfig config = crossover_config(test::qwen3_0_6b(), 0);
    config.model.layers = 4;
    config.accounting = accounting;
    config.compare.clear();
    for (const auto& [block, name] : enum_names<BlockOrder>) {
      if (block != config.block) {
        config.compare.push_back(block);
      }
    }
    std::size_t compared = 0;
    for (const Crossover& crossover : find_crossovers(config)) {
      if (crossover.closed_form && crossover.state == CrossoverState::found) {
        CAPTURE(name_of(accounting), name_of(crossover.block), name_of(crossover.kind));
        CHECK(crossover.simulated == Approx(*crossover.closed_form).margin(1e-3));
        ++compared;
      }
    }
    CHECK(compared == 8);  // the ffn's, and every order's but single_q's
  }
}

TEST_CASE("crossovers of a batch divide by it") {
  RunConfig config = crossover_config(test::qwen3_0_6b(), 0);
  config.workload.batch = 8;
  const std::vector<Crossover> found = find_crossovers(config);
  REQUIRE(found.size() == 3);
  CHECK(found[0].simulated == Approx(4608.0 / 8).margin(1e-3));
  CHECK(found[1].simulated == Approx(5632.0 / 8).margin(1e-3));
}

TEST_CASE("a sweep that is exposed from the first position on is said to be") {
  const std::vector<Crossover> found = find_crossovers(crossover_config(test::qwen3_0_6b(), 5));
  REQUIRE(found.size() == 3);
  CHECK(found[2].block == BlockOrder::standard);
  CHECK(found[2].state == CrossoverState::exposed_at_0);
}

}  // namespace qfs
