// 003's traffic tables read off the rows that a simulation executed (DESIGN.md 7): one layer, fp32
// throughout, head size 64.
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "decode/graph.hpp"
#include "kernels/forms/decode_forms.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "system/simulation.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

constexpr std::size_t head_size = 64;
constexpr std::int64_t fp32_bytes = 4;

struct Traffic {
  std::int64_t append = 0;   // written and, by a copying cache, read
  std::int64_t cache = 0;    // moved by sweeps
  std::int64_t queries = 0;  // q and o of the sweeps; 003 has no lse, so it is left out
  [[nodiscard]] std::int64_t decode() const { return cache + queries; }
};

SystemConfig one_layer(std::size_t heads, std::size_t kv_heads, std::size_t context,
                       std::size_t tokens) {
  SystemConfig config;
  ModelShape& shape = config.rules.shape;
  shape.hidden = 8;
  shape.layers = 1;
  shape.heads = heads;
  shape.kv_heads = kv_heads;
  shape.head_dim = head_size;
  shape.ffn = 8;
  shape.vocab = 8;
  config.rules.formats = {Format::fp32, Format::fp32, Format::fp32, Format::fp32};
  config.graph.lm_head = false;
  config.graph.block = BlockOrder::standard;
  config.graph.contexts = {context};
  config.graph.tokens = tokens;
  return config;
}

Traffic simulated_traffic(const SystemConfig& config) {
  const std::vector<std::function<SimulationResult()>> task{[&] { return simulate(config); }};
  const ExecutionTable table = run_isolated(task, 1).front().table;
  Traffic traffic;
  std::size_t sweeps = 0;
  for (const Row& row : table.rows) {
    const std::int64_t moved = row.work.kv_read_bytes.value() + row.work.kv_written_bytes.value();
    if (row.is_message()) {
      continue;
    }
    if (row.op == OpKind::append) {
      traffic.append += moved;
    } else if (row.op == OpKind::sweep) {
      const auto lse = fp32_bytes * static_cast<std::int64_t>(config.rules.shape.heads);
      traffic.cache += moved;
      traffic.queries += row.work.activation_bytes.value() - lse;
      ++sweeps;
    }
  }
  REQUIRE(sweeps == config.graph.tokens);
  return traffic;
}

/// As 003 prints them: MB of 1e6 bytes, two digits.
double megabytes(std::int64_t bytes) { return std::round(static_cast<double>(bytes) / 1e4) / 100; }

}  // namespace

TEST_CASE("003 table 2 from a simulation: one query over 1,024 and 4,096 positions") {
  CHECK(megabytes(simulated_traffic(one_layer(1, 1, 1024, 1)).decode()) == 0.52);
  CHECK(megabytes(simulated_traffic(one_layer(1, 1, 4096, 1)).decode()) == 2.10);
}

TEST_CASE("003 table 4 from a simulation: appends and decodes of a growing cache") {
  struct Row003 {
    std::size_t steps;
    double append;
    double decode;
  };
  for (const Row003& want :
       {Row003{16, 0.01, 0.08}, {64, 0.03, 1.10}, {256, 0.13, 16.97}, {1024, 0.52, 269.22}}) {
    SystemConfig config = one_layer(1, 1, 0, want.steps);
    config.graph.current_token = CurrentToken::append_first;  // step t sweeps t rows
    const Traffic traffic = simulated_traffic(config);
    CAPTURE(want.steps);
    CHECK(megabytes(traffic.append) == want.append);
    CHECK(megabytes(traffic.decode()) == want.decode);
  }
}

TEST_CASE("003 table 6 from a simulation: fewer KV heads, less traffic in the same ratio") {
  struct Row003 {
    std::size_t kv_heads;
    double cache;
    double total;
  };
  const std::int64_t all = simulated_traffic(one_layer(32, 32, 1024, 1)).cache;
  for (const Row003& want :
       {Row003{32, 16.78, 16.79}, {8, 4.19, 4.21}, {4, 2.10, 2.11}, {1, 0.52, 0.54}}) {
    const Traffic traffic = simulated_traffic(one_layer(32, want.kv_heads, 1024, 1));
    CAPTURE(want.kv_heads);
    CHECK(megabytes(traffic.cache) == want.cache);
    CHECK(megabytes(traffic.decode()) == want.total);
    CHECK(traffic.cache * 32 == all * static_cast<std::int64_t>(want.kv_heads));
  }
}

TEST_CASE("a simulation told to use a conventional form moves what that form moves") {
  constexpr std::size_t context = 100;
  for (const auto& [form, name] : enum_names<AttentionForm>) {
    SystemConfig config = one_layer(6, 2, context, 1);
    config.rules.attention.form = form;
    const FormTraffic want = traffic(form, 6, 2, head_size, context, fp32_bytes);
    const Traffic got = simulated_traffic(config);
    CAPTURE(name);
    CHECK(got.cache == want.kv().value());
    CHECK(got.queries == (want.activation_read + want.activation_written).value());
  }
  SystemConfig config = one_layer(6, 2, context, 1);
  config.rules.attention.growth = CacheGrowth::copying;
  CHECK(simulated_traffic(config).append ==
        growth_traffic(CacheGrowth::copying, {6, 2, head_size, head_size, context}, fp32_bytes)
            .kv()
            .value());
}

}  // namespace qfs
