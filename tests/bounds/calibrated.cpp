// A calibrated softmax in the simulated machine: the time of its two phases against closed forms
// worked out here, its values against fp64 in every arrangement, and what it sends.
//
// One layer of a request on a compute device and c cache devices a latency l apart. Q, K, V, KV, O,
// F: the time of a product on the compute device; S: of one phase on a cache device; X = l if c >
// 1, else 0: the way of the extrema. The query leaves at `q`, the key at `k`, all that the compute
// device has to do before the merge is done at `busy`:
//
//              q          k              busy           rest
//   standard   Q          Q+KV           Q+KV           O+F
//   swapped    F+Q        F+Q+KV         F+Q+KV         O
//   early_q    Q          Q+F+KV         Q+F+KV         O
//   early_k    K+F+Q      K              K+F+Q+V        O
//   early_qk   Q          Q+K            Q+K+F+V        O
//   parallel   Q          Q+KV           Q+KV+F         O
//
//   history: max(busy, q + l + S + X + S + l) + rest
//   row:     max(busy, max(q + l + S + X, k + l) + S + l) + rest
//
// c > 1: the link's bandwidth is unlimited, so that queues on shared ports take no time.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "decode/inputs.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "system/simulation.hpp"
#include "tests/decode/calibrated_machine.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

const SoftmaxUnit min_max{.kind = SoftmaxKind::min_max};
constexpr double femtoseconds = 1e15;

struct Case {
  BlockOrder block = BlockOrder::early_q;
  Calibration calibration = Calibration::history;
  std::size_t context = 4608;
  std::size_t devices = 1;
  double compute = 1e12;  // bytes a second
  double cache = 1e12;    // likewise
  double latency = 0;     // seconds
  double launch = 0;      // likewise
  double link = 0;        // bytes a second; 0: unlimited
  double exps = 0;        // a second on a cache device; 0: unlimited
  SoftmaxUnit unit = min_max;
};

SystemConfig system_of(const Case& setup) {
  SystemConfig config;
  config.compute_device.bandwidth = BytesPerSecond(setup.compute);
  config.cache_device.bandwidth = BytesPerSecond(setup.cache);
  config.compute_device.launch_overhead = Seconds(setup.launch);
  config.cache_device.launch_overhead = Seconds(setup.launch);
  config.link.latency = Seconds(setup.latency);
  if (setup.link > 0) {
    config.link.bandwidth = BytesPerSecond(setup.link);
  }
  if (setup.exps > 0) {
    config.cache_device.exp_rate = ExpsPerSecond(setup.exps);
  }
  const SoftmaxChoice softmax{setup.unit, setup.calibration};
  config.rules = {test::qwen3_0_6b(), {}, Accounting::weights_and_sweep, {.softmax = softmax}};
  config.graph = {.block = setup.block,
                  .lm_head = false,
                  .contexts = {setup.context},
                  .split = {setup.devices},
                  .softmax = softmax};
  return config;
}

/// Of one layer, in seconds, as the table above has it. Qwen3-0.6B in bf16.
class ClosedForm {
 public:
  explicit ClosedForm(const Case& setup) : at_(setup) {}

  [[nodiscard]] double layer() const {
    const double l = at_.latency;
    const auto [q, k, busy, rest] = schedule();
    const double exchange = at_.devices > 1 ? l : 0;
    const double first = q + wire(4096) + l + phase(false) + exchange;
    // The key travels with the value where both are made at once.
    const double key_bytes = alone(at_.block) ? 2048 : 4096;
    const double key = at_.calibration == Calibration::row ? k + wire(key_bytes) + l : 0;
    const double back = 4096 + 64 + (at_.calibration == Calibration::row ? 64 : 0);
    return std::max(busy, std::max(first, key) + phase(true) + wire(back) + l) + rest;
  }

 private:
  struct Schedule {
    double q, k, busy, rest;
  };
  static bool alone(BlockOrder block) {
    return block == BlockOrder::early_k || block == BlockOrder::early_qk;
  }
  [[nodiscard]] double product(double values, double launches = 1) const {
    return launches * at_.launch + 2 * values / at_.compute;
  }
  [[nodiscard]] double wire(double bytes) const { return at_.link > 0 ? bytes / at_.link : 0; }
  /// 2048 bytes a position; the second phase makes the exponentials.
  [[nodiscard]] double phase(bool second) const {
    const double positions = double(at_.context) / double(at_.devices);
    const double row = at_.calibration == Calibration::row ? 1 : 0;
    const double exps = at_.unit.kind == SoftmaxKind::min_max
                            ? 16.0 * (double(at_.unit.intervals) + 1)
                            : 16 * (positions + row);
    const double arithmetic = second && at_.exps > 0 ? exps / at_.exps : 0;
    return at_.launch + std::max(2048 * positions / at_.cache, arithmetic);
  }
  [[nodiscard]] Schedule schedule() const {
    const double hidden = 1024;
    const double q = product(hidden * 2048);
    const double k = product(hidden * 1024);
    const double v = k;
    const double kv = product(2 * hidden * 1024);
    const double o = product(2048 * hidden);
    const double f = product(3 * hidden * 3072, 2);
    switch (at_.block) {
      case BlockOrder::standard:
        return {q, q + kv, q + kv, o + f};
      case BlockOrder::swapped:
        return {f + q, f + q + kv, f + q + kv, o};
      case BlockOrder::early_q:
        return {q, q + f + kv, q + f + kv, o};
      case BlockOrder::early_k:
        return {k + f + q, k, k + f + q + v, o};
      case BlockOrder::early_qk:
        return {q, q + k, q + k + f + v, o};
      default:
        return {q, q + kv, q + kv + f, o};  // parallel
    }
  }

  Case at_;
};

std::vector<double> simulated_steps(const std::vector<Case>& cases) {
  std::vector<std::function<double()>> tasks;
  for (const Case& setup : cases) {
    tasks.emplace_back([setup] {
      const SimulationResult result = simulate(system_of(setup));
      return static_cast<double>(test::last_output(result.table, StepId(0)).value()) / femtoseconds;
    });
  }
  return run_isolated(tasks, default_jobs());
}

constexpr std::array blocks{BlockOrder::standard, BlockOrder::swapped,  BlockOrder::early_q,
                            BlockOrder::early_k,  BlockOrder::early_qk, BlockOrder::parallel};

Case drawn_case(std::uint64_t number) {
  const Random random(29, number);
  const auto between = [&](std::uint64_t i, double low, double high) {
    return low * std::pow(high / low, random.uniform(i));
  };
  Case setup;
  setup.block = blocks[random.below(0, blocks.size())];
  setup.calibration = random.below(1, 2) == 0 ? Calibration::history : Calibration::row;
  setup.devices = std::size_t{1} << random.below(2, 3);
  setup.context = setup.devices * static_cast<std::size_t>(between(3, 16, 65536));
  setup.compute = between(4, 0.5e12, 4e12);
  setup.cache = between(5, 0.5e12, 4e12);
  setup.latency = random.below(6, 4) == 0 ? 0 : between(7, 0.2e-6, 40e-6);
  setup.launch = random.below(8, 2) == 0 ? 0 : between(9, 0.1e-6, 3e-6);
  setup.link = setup.devices > 1 ? 0 : between(10, 50e9, 900e9);
  setup.exps = random.below(11, 2) == 0 ? 0 : between(12, 1e10, 1e12);
  setup.unit.kind = random.below(13, 2) == 0 ? SoftmaxKind::min_max : SoftmaxKind::bf16_exp;
  return setup;
}

/// Small, with numbers.
struct Numeric {
  Arrangement arrangement = Arrangement::two_device;
  SoftmaxChoice softmax;
  CacheSplit split = {};
  BlockOrder block = BlockOrder::early_q;
  Formats formats = {};
};

struct Found {
  double passed = 0;
  double between_caches = 0;  // messages of extrema
  double extrema_bytes = 0;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& passed& between_caches& extrema_bytes;
  }
};

Found run_numeric(const Numeric& setup) {
  const bool parallel = setup.arrangement == Arrangement::tensor_parallel;
  InputsConfig inputs_config{test::tiny_shape(), setup.formats, 7, {37, 0}, 3, true};
  const Inputs inputs(inputs_config);
  SystemConfig config;
  config.arrangement = setup.arrangement;
  config.link.latency = Seconds(1e-6);
  config.compute_device.launch_overhead = Seconds(1e-7);
  config.cache_device.launch_overhead = Seconds(1e-7);
  config.rules = {inputs.shape(), setup.formats, Accounting::full, {.softmax = setup.softmax}};
  config.graph = {.block = setup.block,
                  .contexts = inputs_config.contexts,
                  .tokens = 3,
                  .split = parallel ? CacheSplit{} : setup.split,
                  .ranks = parallel ? std::size_t{2} : std::size_t{1},
                  .fuse_qkv = setup.arrangement != Arrangement::pooled,
                  .softmax = setup.softmax};
  const NumericRequest request{inputs, true};
  const SimulationResult result = simulate(config, &request);
  Found found;
  found.passed = result.numerics->passed() ? 1 : 0;
  for (const Row& row : result.table.rows) {
    const bool extrema = std::ranges::count(row.carries, ValueKind::extrema) > 0;
    found.between_caches += row.is_message() && extrema ? 1 : 0;
    found.extrema_bytes += row.is_message() && extrema ? double(row.wire_bytes.value()) : 0;
  }
  return found;
}

std::vector<Found> run_all(const std::vector<Numeric>& setups) {
  std::vector<std::function<Found()>> tasks;
  for (const Numeric& setup : setups) {
    tasks.emplace_back([setup] { return run_numeric(setup); });
  }
  return run_isolated(tasks, default_jobs());
}

}  // namespace

TEST_CASE("calibrated: 96 drawn cases take as long as the closed form says") {
  std::vector<Case> cases;
  for (std::uint64_t number = 0; number < 96; ++number) {
    cases.push_back(drawn_case(number));
  }
  const std::vector<double> steps = simulated_steps(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& setup = cases[i];
    CAPTURE(i, name_of(setup.block), name_of(setup.calibration), setup.devices, setup.context,
            setup.latency, setup.launch, setup.link);
    CHECK(steps[i] == Approx(28 * ClosedForm(setup).layer()).epsilon(1e-8));
  }
}

TEST_CASE("calibrated: row waits for the key under early_q and not under early_qk") {
  // 4,608 positions, 5 us one way, 1 TB/s: Q 4.194, F 18.874, KV 4.194, O 4.194, S 9.437 us.
  std::vector<Case> cases;
  for (const BlockOrder block : {BlockOrder::early_q, BlockOrder::early_qk}) {
    for (const auto& [calibration, name] : enum_names<Calibration>) {
      cases.push_back({.block = block, .calibration = calibration, .latency = 5e-6});
    }
  }
  const std::vector<double> steps = simulated_steps(cases);
  const double q_history = 28 * (4.194304 + 2 * 5 + 2 * 9.437184 + 4.194304);
  const double q_row = 28 * (4.194304 + 18.874368 + 4.194304 + 5 + 9.437184 + 5 + 4.194304);
  CHECK(steps[0] * 1e6 == Approx(q_history).epsilon(1e-9));  // 1043.363
  CHECK(steps[1] * 1e6 == Approx(q_row).epsilon(1e-9));      // 1425.045
  CHECK(steps[2] == steps[0]);
  CHECK(steps[3] == steps[2]);
}

TEST_CASE("calibrated: every unit, calibration and arrangement computes what fp64 does") {
  std::vector<Numeric> setups;
  std::vector<std::string> names;
  const auto add = [&](const Numeric& setup) {
    setups.push_back(setup);
    names.push_back(std::string(name_of(setup.arrangement)) + " " +
                    test::text_of(setup.softmax.unit) + " " +
                    std::string(name_of(setup.softmax.calibration)) + " " +
                    std::string(name_of(setup.split.by)) + " " +
                    std::to_string(setup.split.devices) + " " + std::string(name_of(setup.block)));
  };
  for (const SoftmaxUnit& unit : test::calibrated_units()) {
    for (const auto& [calibration, name] : enum_names<Calibration>) {
      for (const BlockOrder block : {BlockOrder::early_q, BlockOrder::early_qk}) {
        add({.softmax = {unit, calibration}, .block = block});
        add({.softmax = {unit, calibration}, .split = {3, SplitBy::positions}, .block = block});
      }
    }
  }
  const Formats exact{Format::fp32, Format::fp32, Format::fp32};
  for (const auto& [calibration, name] : enum_names<Calibration>) {
    const SoftmaxChoice softmax{min_max, calibration};
    for (const Arrangement arrangement :
         {Arrangement::colocated, Arrangement::pooled, Arrangement::tensor_parallel}) {
      for (const auto& [block, block_name] : enum_names<BlockOrder>) {
        add({.arrangement = arrangement, .softmax = softmax, .block = block, .formats = exact});
      }
    }
    for (const Arrangement arrangement : {Arrangement::two_device, Arrangement::pooled}) {
      for (const CacheSplit& split : std::vector<CacheSplit>{
               {2, SplitBy::heads}, {3, SplitBy::any}, {8, SplitBy::positions}}) {
        add({.arrangement = arrangement, .softmax = softmax, .split = split, .formats = exact});
      }
    }
  }
  const std::vector<Found> found = run_all(setups);
  for (std::size_t i = 0; i < setups.size(); ++i) {
    CAPTURE(names[i]);
    CHECK(found[i].passed == 1);
  }
}

TEST_CASE("calibrated: extrema go from each sharer of a row to each other, and nowhere else") {
  const SoftmaxChoice history{min_max, Calibration::history};
  const std::vector<Found> found = run_all({
      {.softmax = history},
      {.softmax = history, .split = {3, SplitBy::positions}},
      {.softmax = history, .split = {2, SplitBy::heads}},
      {.arrangement = Arrangement::pooled, .softmax = history, .split = {4, SplitBy::positions}},
      {.arrangement = Arrangement::tensor_parallel, .softmax = history},
      {.softmax = {}, .split = {3, SplitBy::positions}},
  });
  constexpr double layers_and_steps = 3 * 3;
  const std::vector<double> pairs{0, 6, 0, 12, 0, 0};
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].passed == 1);
    CHECK(found[i].between_caches == pairs[i] * layers_and_steps);
    // Two requests in a message, two extrema of four heads each.
    CHECK(found[i].extrema_bytes == pairs[i] * layers_and_steps * 2 * 2 * 4 * 4);
  }
}

}  // namespace qfs
