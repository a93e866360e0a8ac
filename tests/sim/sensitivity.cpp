// Moved numbers of the hardware: each against the run that says the same, by the closed form, which
// takes no time; and the largest latency on both sides of it.
#include "sim/sensitivity/sensitivity.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sim/config/load.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs {
namespace {

constexpr const char* run_text =
    "name: moved\nmodel: qwen3-0.6b\nblock: early_q\narrangement: two_device\n"
    "workload: {batch: 4, context: 2000, tokens: 1}\ncompute_device: h100\ncache_device: l40s\n"
    "link: {latency: 5 us, bandwidth: 50 GB/s, message_overhead: 1 us}\n"
    "numerics: {mode: \"off\"}\n";

RunConfig loaded(const std::vector<std::string>& overrides = {}) {
  const test::ConfigFolder folder;
  return load_run_config(folder.write("run.yaml", run_text), overrides);
}

const MovedNumber& moved(const SensitivityStudy& study, const std::string& key) {
  const auto at = std::find_if(study.moved.begin(), study.moved.end(),
                               [&](const MovedNumber& number) { return number.key == key; });
  REQUIRE(at != study.moved.end());
  return *at;
}

void check_equal(const StepPair& a, const std::vector<std::string>& overrides) {
  const auto steps = steps_of(loaded(overrides), closed_form_step);
  REQUIRE(steps);
  CHECK(a.own.value() == Approx(steps->own.value()).epsilon(1e-12));
  CHECK(a.standard.value() == Approx(steps->standard.value()).epsilon(1e-12));
}

}  // namespace

TEST_CASE("a moved number is the run that gives it so") {
  const SensitivityStudy study = study_sensitivity(loaded(), 0.25, 0.05, closed_form_step);
  check_equal(study.given, {});
  const MovedNumber& latency = moved(study, "link.latency");
  check_equal(latency.less, {"link.latency=3.75 us"});
  check_equal(latency.more, {"link.latency=6.25 us"});
  check_equal(moved(study, "link.message_overhead").more, {"link.message_overhead=1.25 us"});
  const FittedDevice l40s = *loaded().cache_device.kernels;
  const double launch = to_microseconds(l40s.cost.sweep->launch);
  check_equal(moved(study, "cache_device.kernels.sweep.launch").less,
              {"cache_device.kernels.sweep.launch=" + std::to_string(0.75 * launch) + " us"});
  // Every number is put back, the largest span comes first, and what is not launched moves nothing.
  check_equal(study.given, {});
  CHECK(std::is_sorted(study.moved.begin(), study.moved.end(),
                       [](const auto& a, const auto& b) { return a.span() > b.span(); }));
  for (const MovedNumber& number : study.moved) {
    CAPTURE(number.key);
    CHECK(number.key.find("narrow") == std::string::npos);
    CHECK(number.key.find("compute_device.kernels.sweep") == std::string::npos);
    CHECK(number.key.find("cache_device.kernels.product") == std::string::npos);
  }
  CHECK(study.without_effect > 20);
}

TEST_CASE("up to the largest latency the block gains the share, and no further") {
  const RunConfig run = loaded();
  const auto furthest = furthest_latency(run, 0.05, closed_form_step);
  REQUIRE(furthest);
  const auto gain_at = [&](Seconds latency) {
    RunConfig at = run;
    at.link.latency = latency;
    return steps_of(at, closed_form_step)->gain();
  };
  CHECK(gain_at(*furthest) >= 0.05);
  CHECK(gain_at(*furthest + Seconds(2e-9)) < 0.05);
  CHECK(gain_at(Seconds(1)) < 0.05);
  // With both devices at once the gain cannot reach it.
  CHECK_FALSE(furthest_latency(run, 5.0, closed_form_step));
}

TEST_CASE("a run that has nothing to compare is refused") {
  CHECK_THROWS_AS(study_sensitivity(loaded({"block=standard"}), 0.2, 0.05, closed_form_step),
                  ConfigError);
}

TEST_CASE("the command prints what simulation says") {
  const test::ConfigFolder folder;
  const std::string file = folder.write("run.yaml", run_text).string();
  const test::Outcome csv =
      test::qfsim("sensitivity " + file + " --csv --vary workload.batch=1,2 --set model.layers=2");
  CHECK(csv.status == 0);
  CHECK(csv.text.rfind("workload.batch,number,moved_by,step_us,standard_step_us,gain", 0) == 0);
  CHECK(csv.text.find("\n2,cache_device.kernels.sweep.launch,-0.2,") != std::string::npos);
  const auto steps = steps_of(loaded({"workload.batch=2", "model.layers=2"}), closed_form_step);
  const std::string as_given = "\n2,as given,0,";
  const std::size_t line = csv.text.find(as_given);
  REQUIRE(line != std::string::npos);
  CHECK(std::stod(csv.text.substr(line + as_given.size())) ==
        Approx(to_microseconds(steps->own)).epsilon(1e-9));
  const test::Outcome wrong = test::qfsim("sensitivity " + file + " --move 100", "2>&1");
  CHECK(wrong.status == 2);
  CHECK(wrong.text.find("--move: legal: percent above 0 and below 100") != std::string::npos);
}

}  // namespace qfs
