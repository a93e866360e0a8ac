// Crossovers of every dense model preset on the ideal device pair of configs/studies: by
// simulation, by closed form and by hand, and as configs/studies/README.md prints them.
#include <cmath>
#include <string>
#include <vector>

#include "sim/config/load.hpp"
#include "sim/config/presets.hpp"
#include "sim/config/tree.hpp"
#include "sim/crossover/crossover_study.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

const std::filesystem::path studies = test::source_dir() + "/configs/studies";
const Variation models{"model",
                       {"qwen3-0.6b", "qwen3-1.7b", "qwen3-4b", "qwen3-8b", "qwen3-14b",
                        "qwen3-32b", "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b"}};

// Positions. Both ways end at femtoseconds, of which the fastest sweep takes 853 a position.
constexpr double clock_rounding = 1e-2;

/// Bytes that an operation moves in bf16 with the residual stream in fp32, one request.
struct LayerBytes {
  double ffn;         // three matrices; residual read and written
  double kv;          // two matrices; residual read, rows written
  double beside_row;  // q read, o and lse written by a sweep
  double row;         // k and v of a position
  double q_message;
  double result_message;

  explicit LayerBytes(const ModelShape& model) {
    const auto hidden = static_cast<double>(model.hidden);
    const auto heads = static_cast<double>(model.heads);
    const double q_values = heads * static_cast<double>(model.head_dim);
    const auto kv_values = static_cast<double>(model.kv_heads * model.head_dim);
    ffn = 2 * 3 * hidden * static_cast<double>(model.ffn) + 2 * 4 * hidden;
    kv = 2 * 2 * hidden * kv_values + 4 * hidden + 2 * 2 * kv_values;
    beside_row = 2 * 2 * q_values + 4 * heads;
    row = 2 * 2 * kv_values;
    q_message = 2 * q_values;
    result_message = 2 * q_values + 4 * heads;
  }
};

/// Where the sweep takes as long as the ffn: two launches against one.
double ffn_crossover(const RunConfig& run) {
  const LayerBytes bytes(run.model);
  const double bandwidth = run.compute_device.bandwidth.value();
  const double launch = run.compute_device.launch_overhead.value() * bandwidth;
  return (bytes.ffn + launch - bytes.beside_row) / bytes.row;
}

/// Where q's message, the sweep and its result's take as long as ffn, k and v: three launches
/// against one.
double latency_crossover(const RunConfig& run) {
  const LayerBytes bytes(run.model);
  const double bandwidth = run.compute_device.bandwidth.value();
  const double messages = 2 * run.link.latency.value() +
                          (bytes.q_message + bytes.result_message) / run.link.bandwidth.value();
  const double launches = 2 * run.compute_device.launch_overhead.value();
  const double spare = (launches - messages) * bandwidth;
  return (bytes.ffn + bytes.kv + spare - bytes.beside_row) / bytes.row;
}

}  // namespace

TEST_CASE(
    "crossovers of every model preset on ideal devices are those of the formulas, and the "
    "README of the studies prints them") {
  REQUIRE(preset_names(PresetKind::model, studies).size() == models.values.size());
  const std::vector<VariedRun> runs =
      find_varied_crossovers(studies / "crossover-h200.yaml", {}, {models}, 0.05);
  REQUIRE(runs.size() == models.values.size());
  for (const VariedRun& run : runs) {
    CAPTURE(run.values.front());
    REQUIRE(run.crossovers.size() == 2);
    const double by_hand[] = {ffn_crossover(run.config), latency_crossover(run.config)};
    for (std::size_t i = 0; i < 2; ++i) {
      const Crossover& crossover = run.crossovers[i];
      CHECK(crossover.kind == (i == 0 ? CrossoverKind::ffn : CrossoverKind::latency));
      if (by_hand[i] < 0) {  // qwen3-0.6b: the messages alone outlast ffn, k and v
        CHECK(crossover.state == CrossoverState::exposed_at_0);
        CHECK_FALSE(crossover.closed_form);
        continue;
      }
      REQUIRE(crossover.state == CrossoverState::found);
      REQUIRE(crossover.closed_form);
      CHECK(std::abs(crossover.simulated - *crossover.closed_form) <= clock_rounding);
      CHECK(std::abs(crossover.simulated - by_hand[i]) <= clock_rounding);
      CHECK(static_cast<double>(crossover.first_beyond) == std::floor(by_hand[i]) + 1);
    }
  }
  const std::string printed =
      crossover_table({models}, runs) + "\n" + gain_table({models}, runs, 0.05);
  const std::string readme = config::read_text_file(studies / "README.md");
  INFO("qfsim crossover prints\n" << printed);
  CHECK(readme.find("```\n" + printed + "```\n") != std::string::npos);
}

}  // namespace qfs::test
