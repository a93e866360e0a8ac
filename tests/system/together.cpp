// Systems that are simulated together (simulate_all) against each of them alone: seeded random
// timing runs of every arrangement, all tables row by row.
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "sim/config/dram_load.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/random_cases.hpp"
#include "tests/support/simulated.hpp"

namespace qfs::test {
namespace {

Seconds up_to(Draw& draw, double most) { return Seconds(draw.uniform(0, most)); }

void draw_pool(Draw& draw, SystemConfig& config) {
  config.pool.instances = draw.between(1, 3);
  config.pool.batching.products = draw.one_of<Gather>();
  config.pool.batching.sweeps = draw.one_of<Gather>();
  if (config.pool.batching.products == Gather::ready && draw.one_in(2)) {
    config.pool.batching.window = up_to(draw, 5e-6);
  }
}

void draw_cache(Draw& draw, SystemConfig& config) {
  config.graph.split.devices = draw.between(1, 3);
  config.graph.split.by = SplitBy::positions;
  config.ports = draw.one_of<Ports>();
  if (config.arrangement == Arrangement::two_device && draw.one_in(3)) {
    config.cache.prefetch.ahead = draw.between(1, 4);
    config.cache.prefetch.watermark = draw.one_of<Watermark>();
    config.cache.append_delay = up_to(draw, 2e-6);
  }
}

void draw_disturbances(Draw& draw, SystemConfig& config) {
  Disturbances& disturbances = config.disturbances;
  if (draw.one_in(2)) {
    disturbances.stalls = {0.3, up_to(draw, 1e-5), draw.between(1, 9)};
  }
  if (config.arrangement != Arrangement::colocated && draw.one_in(2)) {
    disturbances.messages = {.lost = 0.1, .late = 0.2, .delay = up_to(draw, 1e-5), .timeout = {}};
    disturbances.messages.timeout = Seconds(5e-5);
  }
}

void draw_memory(Draw& draw, DeviceConfig& device) {
  device.memory = MemoryTier::stream;
  device.dram = load_dram_named(draw.one_in(2) ? "ddr5-4800" : "hbm2");
}

/// Requests of several contexts and tokens, in one wave or two.
void draw_requests(Draw& draw, GraphConfig& graph, std::size_t& wave) {
  wave = draw.between(1, 3);
  graph.contexts.clear();
  graph.request_tokens.clear();
  for (std::size_t request = 0; request < 2 * wave; ++request) {
    graph.contexts.push_back(draw.between(0, 60));
    graph.request_tokens.push_back(draw.between(1, graph.tokens));
  }
}

SystemConfig drawn_system(std::uint64_t number) {
  Draw draw(47, number);
  const AnalyticParameters parameters = random_case(number);
  const Arrangement arrangement = enum_names<Arrangement>[number % 4].first;
  SystemConfig config = system_config(parameters, arrangement);
  config.graph.contexts.resize(std::min<std::size_t>(6, config.graph.contexts.size()));
  config.wave = config.graph.contexts.size();
  if (draw.one_in(2)) {
    draw_requests(draw, config.graph, config.wave);
  }
  if (arrangement == Arrangement::pooled) {
    draw_pool(draw, config);
  }
  if (arrangement == Arrangement::tensor_parallel) {
    config.rules.shape = shape_with_heads(4);
    config.graph.ranks = draw.one_in(2) ? 2 : 4;
  }
  if (arrangement == Arrangement::pooled || arrangement == Arrangement::two_device) {
    draw_cache(draw, config);
  }
  if (draw.one_in(3)) {
    draw_disturbances(draw, config);
  }
  if (draw.one_in(4)) {
    draw_memory(draw, config.compute_device);
    draw_memory(draw, config.cache_device);
  }
  return config;
}

/// Tables have no equality of their own, and their bytes leave nothing out.
std::string bytes_of(const Row& row) { return packed(row); }

void check_equal(const ExecutionTable& together, const ExecutionTable& alone) {
  REQUIRE(together.rows.size() == alone.rows.size());
  for (std::size_t i = 0; i < alone.rows.size(); ++i) {
    if (bytes_of(together.rows[i]) != bytes_of(alone.rows[i])) {
      CAPTURE(i, name_of(alone.rows[i].kind), name_of(alone.rows[i].op));
      CAPTURE(together.rows[i].start.value(), alone.rows[i].start.value());
      FAIL_CHECK("the first row that differs");
      break;
    }
  }
  CHECK(packed(together) == packed(alone));  // resources and memories too
}

using Tables = std::vector<ExecutionTable>;

Tables tables_together(const std::vector<SystemConfig>& configs) {
  Tables tables;
  for (const ExecutionTable* table : simulate_all(configs)) {
    tables.push_back(*table);
  }
  return tables;
}

/// In groups of one to a dozen, each group in a process.
Tables tables_in_groups(const std::vector<SystemConfig>& configs) {
  std::vector<std::function<Tables()>> tasks;
  for (std::size_t begin = 0; begin < configs.size();) {
    const std::size_t size = std::min(1 + tasks.size() * 5 % 12, configs.size() - begin);
    const auto first = configs.begin() + static_cast<std::ptrdiff_t>(begin);
    tasks.emplace_back([group = std::vector(first, first + static_cast<std::ptrdiff_t>(size))] {
      return tables_together(group);
    });
    begin += size;
  }
  Tables all;
  for (const Tables& tables : run_isolated(tasks, default_jobs())) {
    all.insert(all.end(), tables.begin(), tables.end());
  }
  return all;
}

Tables tables_alone(const std::vector<SystemConfig>& configs) {
  std::vector<std::function<ExecutionTable()>> tasks;
  for (const SystemConfig& config : configs) {
    tasks.emplace_back([&config] { return simulate(config).table; });
  }
  return run_isolated(tasks, default_jobs());
}

}  // namespace

TEST_CASE("160 random systems, simulated together, have the tables that they have alone") {
  constexpr std::uint64_t cases = 160;
  std::vector<SystemConfig> configs;
  for (std::uint64_t number = 0; number < cases; ++number) {
    configs.push_back(drawn_system(number));
  }
  const Tables alone = tables_alone(configs);
  const Tables together = tables_in_groups(configs);
  REQUIRE(together.size() == cases);
  std::size_t rows = 0;
  for (std::uint64_t number = 0; number < cases; ++number) {
    CAPTURE(number, name_of(configs[number].arrangement), configs[number].disturbances.any());
    check_equal(together[number], alone[number]);
    rows += alone[number].rows.size();
  }
  CHECK(rows > 100 * cases);
}

TEST_CASE("a dozen copies of one system, at every instant in step, have one table") {
  for (std::uint64_t number = 0; number < 8; ++number) {
    const SystemConfig config = drawn_system(number);
    const std::vector<SystemConfig> copies(12, config);
    const std::vector<std::function<Tables()>> task{[&] { return tables_together(copies); }};
    const Tables tables = run_isolated(task, 1).front();
    const ExecutionTable alone = tables_alone({config}).front();
    REQUIRE(tables.size() == copies.size());
    for (const ExecutionTable& table : tables) {
      CAPTURE(number, name_of(config.arrangement));
      check_equal(table, alone);
    }
  }
}

TEST_CASE("what one system throws, all that are simulated with it throw") {
  SystemConfig config = drawn_system(0);
  SystemConfig broken = config;
  broken.disturbances.slow = {{"no such device", 2}};
  CHECK_THROWS_AS(simulate_all(std::vector{config, broken}), ConfigError);
}

}  // namespace qfs::test
