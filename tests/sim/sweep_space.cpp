// What a sweep's file says of its points before any is simulated: ranges, constraints, the
// configuration of a point; and what is derived from their figures afterwards.
#include <sys/resource.h>

#include <cmath>
#include <string>

#include "base/random.hpp"
#include "sim/report/text.hpp"
#include "sim/sweep/digest.hpp"
#include "sim/sweep/figures.hpp"
#include "sim/sweep/key_kind.hpp"
#include "sim/sweep/objectives.hpp"
#include "sim/sweep/sweep_points.hpp"
#include "sim/sweep/sweep_report.hpp"
#include "tests/sim/sweep_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

const std::string head = "name: s\nrun: base.yaml\n";
const std::string variants = "variants: {a: {block: standard}, b: {block: early_q}}\n";

SweepConfig read(const ConfigFolder& folder, const std::string& text) {
  folder.write("base.yaml", swept_run);
  return load_sweep_config(folder.write("sweep.yaml", text));
}

std::vector<std::string> values(const std::string& key, const std::string& range) {
  const ConfigFolder folder;
  return read(folder, head + "axes: {" + key + ": {" + range + "}}\n" + variants).axes[0].values;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("SHA-256 gives the standard's examples") {
  // FIPS 180-4's example messages, and a million times 'a'.
  CHECK(digest_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(digest_of(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("ranges: ends included, whole where the key is whole, each value once") {
  CHECK(values("workload.context", "from: 1 Ki, to: 1 Mi, steps: 11, scale: log") ==
        Texts{"1 Ki", "2 Ki", "4 Ki", "8 Ki", "16 Ki", "32 Ki", "64 Ki", "128 Ki", "256 Ki",
              "512 Ki", "1 Mi"});
  CHECK(values("workload.context", "from: 10, to: 30, steps: 3") == Texts{"10", "20", "30"});
  CHECK(values("workload.batch", "from: 1, to: 4, steps: 9") == Texts{"1", "2", "3", "4"});
  CHECK(values("link.latency", "from: 0 us, to: 1 us, steps: 3") == Texts{"0 s", "500 ns", "1 us"});
  CHECK(values("link.bandwidth", "from: 1 GB/s, to: 1 TB/s, steps: 4, scale: log") ==
        Texts{"1 GB/s", "10 GB/s", "100 GB/s", "1 TB/s"});
  CHECK(values("cache_device.capacity", "from: 1 MiB, to: 3 MiB, steps: 3") ==
        Texts{"1 MiB", "2 MiB", "3 MiB"});
  const Texts odd = values("workload.context", "from: 7, to: 1001, steps: 5, scale: log");
  for (std::size_t i = 0; i < odd.size(); ++i) {
    const double exact = 7 * std::pow(1001.0 / 7, static_cast<double>(i) / 4);
    CHECK(std::abs(std::stod(odd[i]) - exact) <= 0.5);
  }
}

TEST_CASE("the kind of number that a key takes is the schema's") {
  CHECK(number_kind_of("workload.context")->form == NumberKind::Form::whole);
  CHECK(number_kind_of("cache.devices")->form == NumberKind::Form::whole);
  CHECK(number_kind_of("model.layers")->form == NumberKind::Form::whole);
  CHECK(number_kind_of("model.rope_theta")->form == NumberKind::Form::plain);
  CHECK(number_kind_of("compute_device.capacity")->form == NumberKind::Form::size);
  CHECK(number_kind_of("link.latency")->dimension == config::Dimension::time);
  CHECK(number_kind_of("compute_device.bandwidth")->dimension == config::Dimension::rate);
  CHECK_FALSE(number_kind_of("block"));
  CHECK_FALSE(number_kind_of("workload"));
  CHECK_FALSE(number_kind_of("workload.no_such_key"));
}

TEST_CASE("a point skipped by a constraint is not simulated and says why") {
  const ConfigFolder folder;
  const SweepResult result = swept(folder, head +
                                               "axes: {workload.context: [16, 1 Ki], "
                                               "workload.batch: [1, 2, 4]}\n" +
                                               variants +
                                               "constraints:\n"
                                               "  - {skip: {workload.context: 1024, "
                                               "workload.batch: {above: 1, at_most: 2}, variant: "
                                               "[b]}, because: 'odd, that'}\n");
  std::size_t skipped = 0;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const SweepPoint& point = result.points[i];
    const bool expected = point.values == std::vector<std::size_t>{1, 1} && point.variant == 1;
    CAPTURE(i);
    CHECK((point.status == PointStatus::skipped) == expected);
    CHECK(point.ran() == !expected);
    skipped += expected ? 1 : 0;
  }
  CHECK(skipped == 1);
  CHECK(result.simulations == 11);
  CHECK(results_csv(result).find(",skipped,\"odd, that\"\n") != std::string::npos);
}

TEST_CASE("derived columns and objectives, against the figures by hand") {
  const ConfigFolder folder;
  const SweepResult result =
      swept(folder, head + "axes: {workload.context: [16, 256, 1 Ki]}\n" + variants +
                        "derived:\n  gain: {speed_up: tpot_us, baseline: a}\n"
                        "  more: {speed_up: tokens_per_s, baseline: a}\n"
                        "  wire: {ratio: wire_bytes, baseline: b}\n"
                        "objectives: [{minimise: tpot_us}, {maximise: gain}]\n");
  const DerivedFigures derived(result);
  std::size_t best = 0;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const PointFigures& own = result.points[i].figures;
    const PointFigures& a = result.points[i - i % 2].figures;
    const PointFigures& b = result.points[i - i % 2 + 1].figures;
    CHECK(derived.of(0, i) == a.tpot_us / own.tpot_us);
    CHECK(derived.of(1, i) == own.tokens_per_s / a.tokens_per_s);
    CHECK(derived.of(2, i) ==
          static_cast<double>(own.wire_bytes.value()) / static_cast<double>(b.wire_bytes.value()));
    best = derived.of(0, i) > derived.of(0, best) ? i : best;
  }
  CHECK(best_point(result, result.config.objectives[1]) == best);
  const std::vector<bool> pareto = pareto_points(result);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < result.points.size(); ++j) {
      const double time = result.points[j].figures.tpot_us - result.points[i].figures.tpot_us;
      const double gain = derived.of(0, j) - derived.of(0, i);
      beaten = beaten || (time <= 0 && gain >= 0 && (time < 0 || gain > 0));
    }
    CHECK(pareto[i] == !beaten);
  }
  CHECK(results_csv(result).find(",status,reason,gain,more,wire,pareto\n") != std::string::npos);
  CHECK(sweep_table(result).find("most gain: ") != std::string::npos);
}

TEST_CASE("the configuration of a point is that of the run with its overrides, in whatever order") {
  const ConfigFolder folder;
  const SweepConfig config =
      read(folder, head +
                       "equal: [wave, resident, memory]\naxes:\n  model.layers: [1, 2]\n"
                       "  workload.context: {from: 3, to: 400, steps: 9, scale: log}\n"
                       "  workload.batch: [2, 8]\n  link.latency: [1 us, 9 us]\n"
                       "variants:\n  a: {block: standard}\n  two: {workload.in_flight: 2}\n"
                       "  one: {arrangement: colocated, cache_device: null, link: null}\n");
  const SweepSpace space(config);
  PointMaker warm(config);
  const Random random(7, 0);
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const SweepPoint point = space.at(random.below(draw, space.points()));
    CAPTURE(name_of(point.equal), point.values, point.variant);
    PointMaker cold(config);
    std::string first;
    std::string second;
    try {
      first = to_yaml(warm.make(point));
    } catch (const ConfigError& error) {
      first = error.what();
    }
    try {
      second = to_yaml(cold.make(point));
    } catch (const ConfigError& error) {
      second = error.what();
    }
    CHECK(first == second);
  }
}

TEST_CASE("a million points are planned in 200 MB, and none of them is simulated") {
  const ConfigFolder folder;
  const SweepConfig config =
      read(folder, head +
                       "axes:\n  workload.context: {from: 1, to: 1000, steps: 1000}\n"
                       "  link.latency: {from: 1 us, to: 1 ms, steps: 500}\n" +
                       variants +
                       "constraints: [{skip: {workload.context: {above: 500}, variant: b}, "
                       "because: half}]\n");
  check_points(config);
  const SweepSpace space(config);
  REQUIRE(space.points() == 1'000'000);
  std::uint64_t skipped = 0;
  for (std::uint64_t index = 0; index < space.points(); ++index) {
    skipped += space.skipped_by(space.at(index)) != nullptr ? 1 : 0;
  }
  CHECK(skipped == 250'000);
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  constexpr long most_kilobytes = 200'000;
  CHECK(usage.ru_maxrss < most_kilobytes);
}

}  // namespace qfs::test
