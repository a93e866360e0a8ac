// What must hold whatever the parameters: bounds, scaling, monotony, limits.
#include <algorithm>
#include <numeric>
#include <set>

#include "analysis/closed_form.hpp"
#include "analysis/operation_costs.hpp"
#include "analysis/roofline.hpp"
#include "tests/analysis/varied_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_cases.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

constexpr double rounding = 1e-11;  // relative, of sums of some hundred times

double total(const AnalyticTimes& times) {
  const auto add = [](double sum, Seconds step) { return sum + step.value(); };
  return std::accumulate(times.step_times.begin(), times.step_times.end(), 0.0, add);
}

void check_not_below(const AnalyticTimes& longer, const AnalyticTimes& shorter) {
  CHECK(longer.stack_time.value() >= shorter.stack_time.value() * (1 - rounding));
  CHECK(total(longer) >= total(shorter) * (1 - rounding));
}

}  // namespace

TEST_CASE("no step is shorter than its roofline, and every resource binds somewhere") {
  std::set<AnalyticResource> binding;
  for (std::size_t number = 0; number < 1500; ++number) {
    const AnalyticParameters parameters = test::varied_case(number);
    for (const auto& [arrangement, name] : enum_names<AnalyticArrangement>) {
      const AnalyticTimes times = analytic_times(arrangement, parameters);
      // Ranks without an LM head begin the later tokens each on its own.
      const bool first_only =
          arrangement == AnalyticArrangement::tensor_parallel && !parameters.lm_head;
      const std::size_t tokens = first_only ? 1 : parameters.tokens;
      for (std::size_t token = 0; token < tokens; ++token) {
        const Roofline roofline = step_roofline(arrangement, parameters, token);
        CAPTURE(number, name, token, name_of(roofline.bound));
        CHECK(times.step_times[token].value() >= roofline.time.value() * (1 - rounding));
        binding.insert(roofline.bound);
      }
    }
  }
  for (const auto& [resource, name] : enum_names<AnalyticResource>) {
    CAPTURE(name);
    CHECK(binding.contains(resource) == (resource < AnalyticResource::compute_executor));
  }
}

TEST_CASE("the first round of all waves takes no less than what any executor or port does in it") {
  using R = AnalyticResource;
  for (std::size_t number = 0; number < 400; ++number) {
    AnalyticParameters parameters = test::varied_case(number);
    parameters.tokens = 1;
    for (const auto& [arrangement, name] : enum_names<AnalyticArrangement>) {
      Seconds last(0);
      for (const auto& wave : analytic_times(arrangement, parameters).wave_step_ends) {
        last = std::max(last, wave.front());
      }
      const Roofline round = round_bound(arrangement, parameters, 0);
      for (const R resource : {R::compute_executor, R::cache_executor, R::pool_executor,
                               R::rank_executor, R::link_to_pool, R::link_to_compute}) {
        CAPTURE(number, name, name_of(resource));
        CHECK(last.value() >= round.busy_of(resource).value() * (1 - rounding));
      }
    }
  }
}

TEST_CASE("enough waves keep the busiest resource busy: a round takes its bound") {
  for (const auto arrangement : {AnalyticArrangement::two_device, AnalyticArrangement::pooled}) {
    AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), BlockOrder::standard, 16384, 5);
    parameters.in_flight = 4;
    parameters.tokens = 6;
    const AnalyticTimes times = analytic_times(arrangement, parameters);
    const std::vector<Seconds>& ends = times.wave_step_ends.front();
    const double round = (ends.back() - ends.front()).value() / 5;
    const Roofline bound = round_bound(arrangement, parameters, 3);
    CHECK(bound.bound == AnalyticResource::cache_executor);
    CHECK(round == Approx(bound.time.value()).epsilon(0.01));
    parameters.in_flight = 1;  // which alone takes the sum of both sides
    CHECK(analytic_times(arrangement, parameters).step_times.back() >
          1.2 * round_bound(arrangement, parameters, 5).time);
  }
}

TEST_CASE("ranks with free links share the work of one device evenly") {
  for (const auto& [block, name] : enum_names<BlockOrder>) {
    AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), block, 5000);
    parameters.tokens = 2;
    parameters.batch = 3;
    const double one = total(colocated_times(parameters));
    for (const std::size_t ranks : {2, 4, 8}) {
      parameters.ranks = ranks;
      CAPTURE(name, ranks);
      CHECK(total(tensor_parallel_times(parameters)) ==
            Approx(one / static_cast<double>(ranks)).epsilon(rounding));
    }
  }
}

TEST_CASE("with a free link a split by heads is one by positions, and a sweep half as long") {
  for (const auto& [block, name] : enum_names<BlockOrder>) {
    AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), block, 20000);
    AnalyticParameters half = parameters;
    half.context /= 2;
    parameters.split.devices = 2;
    CAPTURE(name);
    for (const auto by : {SplitBy::heads, SplitBy::positions}) {
      parameters.split.by = by;
      CHECK(two_device_times(parameters).stack_time.value() ==
            Approx(two_device_times(half).stack_time.value()).epsilon(rounding));
      CHECK(pooled_times(parameters).stack_time.value() ==
            Approx(pooled_times(half).stack_time.value()).epsilon(rounding));
    }
  }
}

// But for caches that are copied: how much of a sweep's bandwidth goes to a copy that nothing waits
// on depends on when it comes.
TEST_CASE("more context, or more latency, takes no less time") {
  for (AnalyticParameters parameters : test::random_cases(500)) {
    parameters.attention.growth = CacheGrowth::in_place;
    const AnalyticTimes split = two_device_times(parameters);
    for (const std::size_t more : {1, 7, 100}) {
      AnalyticParameters longer = parameters;
      longer.context += more;
      check_not_below(two_device_times(longer), split);
      check_not_below(colocated_times(longer), colocated_times(parameters));
    }
    for (const double more : {1e-9, 1e-7, 1e-5}) {
      AnalyticParameters slower = parameters;
      slower.link_latency += Seconds(more);
      check_not_below(two_device_times(slower), split);
    }
  }
}

TEST_CASE("twice every rate and half every delay is half the time, to the bit") {
  const auto faster = [](AnalyticDevice& device) {
    device.bandwidth = 2 * device.bandwidth;
    device.mac_rate = 2 * device.mac_rate;
    device.exp_rate = 2 * device.exp_rate;
    device.launch_overhead = 0.5 * device.launch_overhead;
  };
  for (std::size_t number = 0; number < 100; ++number) {
    const AnalyticParameters parameters = test::varied_case(number);
    AnalyticParameters half = parameters;
    faster(half.compute);
    faster(half.cache);
    half.link_bandwidth = 2 * half.link_bandwidth;
    half.link_latency = 0.5 * half.link_latency;
    half.link_message_overhead = 0.5 * half.link_message_overhead;
    for (const auto& [arrangement, name] : enum_names<AnalyticArrangement>) {
      const AnalyticTimes halved = analytic_times(arrangement, half);
      const AnalyticTimes times = analytic_times(arrangement, parameters);
      CHECK(2 * halved.stack_time == times.stack_time);
      CHECK(2 * halved.wave_step_ends.back().back() == times.wave_step_ends.back().back());
    }
  }
}

TEST_CASE("swept bytes alone depend on batch times context") {
  for (const auto block : {BlockOrder::standard, BlockOrder::swapped, BlockOrder::early_q}) {
    AnalyticParameters many = test::ideal(test::qwen3_0_6b(), block, 1000, 5);
    many.batch = 8;
    const AnalyticParameters one = test::ideal(test::qwen3_0_6b(), block, 8000, 5);
    CHECK(two_device_times(many).stack_time == two_device_times(one).stack_time);
    CHECK(colocated_times(many).stack_time == colocated_times(one).stack_time);
  }
}

TEST_CASE("with unlimited rates only launches and latencies remain") {
  struct Case {
    BlockOrder block;
    CurrentToken current_token;
    double two_device;  // launches a layer on the critical path
    double colocated;   // launches a layer
  };
  for (const Case& expected : {Case{BlockOrder::standard, CurrentToken::merge, 5, 6},
                               Case{BlockOrder::swapped, CurrentToken::merge, 5, 6},
                               Case{BlockOrder::early_q, CurrentToken::merge, 5, 6},
                               Case{BlockOrder::standard, CurrentToken::append_first, 5, 5},
                               Case{BlockOrder::swapped, CurrentToken::append_first, 5, 5},
                               Case{BlockOrder::early_q, CurrentToken::append_first, 6, 6}}) {
    AnalyticParameters parameters;
    parameters.shape = test::qwen3_0_6b();
    parameters.block = expected.block;
    parameters.current_token = expected.current_token;
    parameters.compute.launch_overhead = Seconds(1);
    parameters.cache.launch_overhead = Seconds(1);
    CAPTURE(name_of(expected.block), name_of(expected.current_token));
    CHECK(two_device_times(parameters).stack_time.value() == 28 * expected.two_device);
    CHECK(colocated_times(parameters).stack_time.value() == 28 * expected.colocated);
  }
}

TEST_CASE("one device without an append to overlap takes the sum of its operations") {
  for (AnalyticParameters parameters : test::random_cases(100)) {
    parameters.accounting = Accounting::weights_and_sweep;
    const AnalyticCosts costs(parameters);
    const auto alone = [&](const AnalyticCost& cost) {
      return time_alone(cost, parameters.compute).value();
    };
    const bool split = parameters.block == BlockOrder::early_k ||
                       parameters.block == BlockOrder::early_qk;  // k and v of two points
    double total = 0;
    for (std::size_t layer = 0; layer < parameters.shape.layers; ++layer) {
      const double kv = split ? 2 * alone(costs.k_or_v()) : alone(costs.kv());
      total += costs.fused_qkv(layer) ? alone(costs.qkv()) : alone(costs.q()) + kv;
      total += alone(costs.sweep(costs.swept_positions(0))) + alone(costs.o()) + alone(costs.ffn());
    }
    CHECK(colocated_times(parameters).stack_time.value() == Approx(total).epsilon(rounding));
  }
}

}  // namespace qfs
