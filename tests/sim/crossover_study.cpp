// qfsim crossover: variations, the largest gain and where it ends, the break-even latency.
#include "sim/crossover/crossover_study.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

const std::string paper = test::source_dir() + "/configs/runs/paper.yaml";

RunConfig paper_run(const std::vector<std::string>& overrides = {}) {
  return load_run_config(paper, overrides);
}

std::string complaint(const std::string& argument) {
  try {
    parse_variation(argument);
    return "parsed";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a variation is a key and its values, and commas within brackets belong to a value") {
  const Variation models = parse_variation("model=qwen3-0.6b,qwen3-4b");
  CHECK(models.key == "model");
  CHECK(models.values == std::vector<std::string>{"qwen3-0.6b", "qwen3-4b"});
  const Variation maps = parse_variation("link={latency: 1 us, bandwidth: 1 TB/s},ideal");
  CHECK(maps.values == std::vector<std::string>{"{latency: 1 us, bandwidth: 1 TB/s}", "ideal"});
  CHECK(parse_variation("name=a=b").values == std::vector<std::string>{"a=b"});
  CHECK(complaint("model") == "--vary model: no key; legal: key.path=value,value,...");
  CHECK(complaint("=1") == "--vary =1: no key; legal: key.path=value,value,...");
  CHECK(complaint("a=1,,2") == "--vary a=1,,2: an empty value; legal: key.path=value,value,...");
  CHECK(complaint("a=") == "--vary a=: an empty value; legal: key.path=value,value,...");
}

TEST_CASE("the largest gain is at the latency crossover, and as large as the stack times say") {
  // DESIGN.md 7: 1409.286 and 880.804 us at 5,632 positions.
  const GainStudy study = study_gain(paper_run(), 0.05, simulated_step);
  REQUIRE(study.largest);
  CHECK(study.largest->context == 5632);
  CHECK(study.largest->share == Approx(1409.286 / 880.804 - 1).epsilon(1e-6));
}

TEST_CASE("the gain falls below a share where the saving is that share of the step") {
  // Beyond the crossover early_q saves the ffn of every layer, 28 x 18.874368 us, of a step that
  // grows by 28 x 4.096 ns a position from 880.804 us at 5,632.
  const double saved = 28 * 18.874368;
  for (const double share : {0.05, 0.20}) {
    CAPTURE(share);
    const double step = saved / share;
    const double context = 5632 + (step - 880.803840) / (28 * 0.004096);
    const GainStudy study = study_gain(paper_run(), share, simulated_step);
    REQUIRE(study.falls_below);
    CHECK(static_cast<double>(*study.falls_below) >= context - 1e-3);
    CHECK(static_cast<double>(*study.falls_below) <= context + 1 + 1e-3);
  }
}

TEST_CASE("simulation and closed form find the same gains and latencies") {
  for (const char* latency : {"0 us", "5 us", "33 us"}) {
    for (const char* block : {"early_q", "parallel", "shifted_q"}) {
      CAPTURE(latency, block);
      const RunConfig run = paper_run(
          {std::string("link.latency=") + latency, "compare=[]", std::string("block=") + block});
      const GainStudy simulated = study_gain(run, 0.05, simulated_step);
      const GainStudy formula = study_gain(run, 0.05, closed_form_step);
      REQUIRE(simulated.largest);
      REQUIRE(formula.largest);
      CHECK(simulated.largest->share == Approx(formula.largest->share).epsilon(1e-6));
      REQUIRE(simulated.falls_below.has_value() == formula.falls_below.has_value());
      if (simulated.falls_below) {
        const auto apart =
            static_cast<double>(*simulated.falls_below) - static_cast<double>(*formula.falls_below);
        CHECK(std::abs(apart) <= 1);
      }
    }
  }
}

TEST_CASE("at the break-even latency two devices take as long as one") {
  const RunConfig run = paper_run();
  const auto latency = break_even_latency(run, simulated_step);
  REQUIRE(latency);
  RunConfig two = run;
  two.link.latency = *latency;
  two.workload.tokens = 1;
  RunConfig one = two;
  one.arrangement = Arrangement::colocated;
  one.block = BlockOrder::standard;
  CHECK(simulated_step(two)->value() == Approx(simulated_step(one)->value()).epsilon(1e-6));
  // One device that is ten times as fast is never matched.
  CHECK_FALSE(break_even_latency(
      paper_run({"compute_device.bandwidth=10 TB/s", "workload.context=100000"}), simulated_step));
}

TEST_CASE("no gain is found where there is none") {
  const GainStudy study =
      study_gain(paper_run({"block=swapped", "compare=[]"}), 0.05, closed_form_step);
  CHECK_FALSE(study.largest);
  CHECK_FALSE(study.falls_below);
}

TEST_CASE("the program prints a line for each combination, and refuses what has no crossover") {
  const Outcome table =
      qfsim("crossover " + paper + " --set 'compare=[]' --vary model=qwen3-0.6b,qwen3-4b");
  CHECK(table.status == 0);
  CHECK(table.text.find("5,632 .. 5,633") != std::string::npos);
  CHECK(table.text.find("39,040 .. 39,041") != std::string::npos);
  const Outcome csv = qfsim("crossover " + paper + " --set 'compare=[]' --csv");
  CHECK(csv.text.find("\nffn,early_q,found,4608.000000,,4608.000000,4609,,,0.6") !=
        std::string::npos);
  const Outcome colocated =
      qfsim("crossover " + test::source_dir() + "/configs/runs/colocated.yaml", "2>&1");
  CHECK(colocated.status == 2);
  CHECK(colocated.text.find("no crossovers to find") != std::string::npos);
  CHECK(qfsim("crossover " + paper + " --gain 0").status == 2);
  CHECK(qfsim("crossover " + paper + " --vary workload.contxt=1").status == 2);
}

}  // namespace qfs::test
