#include <cmath>

#include "analysis/closed_form.hpp"
#include "analysis/crossover.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_cases.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

double stack_at(AnalyticParameters parameters, std::size_t context) {
  parameters.context = context;
  return two_device_times(parameters).stack_time.value();
}

double pooled_stack_at(AnalyticParameters parameters, std::size_t context) {
  parameters.context = context;
  return pooled_times(parameters).stack_time.value();
}

}  // namespace

TEST_CASE("the crossovers of DESIGN.md 7") {
  const AnalyticParameters small = test::ideal(test::qwen3_0_6b(), BlockOrder::early_q, 0);
  const AnalyticParameters large = test::ideal(test::qwen3_4b(), BlockOrder::early_q, 0);
  CHECK(ffn_crossover(small).value() == Approx(4608).epsilon(1e-12));
  CHECK(ffn_crossover(large).value() == Approx(36480).epsilon(1e-12));
  CHECK(latency_crossover(small).value() == Approx(5632).epsilon(1e-12));
  CHECK(latency_crossover(large).value() == Approx(39040).epsilon(1e-12));
}

TEST_CASE("the latency crossovers of DESIGN.md 7 at 5 us one way") {
  const auto crossover = [](const ModelShape& shape) {
    return latency_crossover(test::ideal(shape, BlockOrder::early_q, 0, 5)).value();
  };
  CHECK(std::abs(crossover(test::qwen3_0_6b()) - 3190.594) <= 0.0005);
  CHECK(std::abs(crossover(test::qwen3_4b()) - 36598.594) <= 0.0005);
}

TEST_CASE("the crossovers of a pool of DESIGN.md 7") {
  const auto with = [](const ModelShape& shape, double latency_us) {
    return test::ideal(shape, BlockOrder::early_q, 0, latency_us);
  };
  CHECK(busy_crossover(with(test::qwen3_0_6b(), 5)).value() == Approx(3584).epsilon(1e-12));
  CHECK(busy_crossover(with(test::qwen3_4b(), 5)).value() == Approx(28800).epsilon(1e-12));
  const auto latency = [&](const ModelShape& shape, double latency_us) {
    return pooled_latency_crossover(with(shape, latency_us)).value();
  };
  CHECK(latency(test::qwen3_0_6b(), 0) == Approx(4608).epsilon(1e-12));
  CHECK(latency(test::qwen3_4b(), 0) == Approx(33920).epsilon(1e-12));
  CHECK(std::abs(latency(test::qwen3_0_6b(), 5) - 7049.406) <= 0.0005);
  CHECK(std::abs(latency(test::qwen3_4b(), 5) - 36361.406) <= 0.0005);
}

TEST_CASE("a pool that has the projections too is busy for longer and hides more") {
  AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), BlockOrder::early_q, 0, 5);
  parameters.pooled_projections = true;
  CHECK(busy_crossover(parameters).value() ==
        Approx((23'068'672 + 8'388'608) / 4096.0).epsilon(1e-12));
  CHECK(pooled_latency_crossover(parameters).value() == Approx(23'068'672 / 4096.0).epsilon(1e-12));
}

TEST_CASE("crossovers of a cache on several devices") {
  AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), BlockOrder::early_q, 0);
  parameters.split.devices = 4;
  for (const auto by : {SplitBy::positions, SplitBy::heads}) {
    parameters.split.by = by;
    CHECK(ffn_crossover(parameters).value() == Approx(4 * 4608).epsilon(1e-12));
    CHECK(busy_crossover(parameters).value() == Approx(4 * 3584).epsilon(1e-12));
    CHECK_FALSE(latency_crossover(parameters).has_value());
    CHECK_FALSE(pooled_latency_crossover(parameters).has_value());
  }
  parameters.split.by = SplitBy::any;
  CHECK_FALSE(ffn_crossover(parameters).has_value());
  CHECK_FALSE(busy_crossover(parameters).has_value());
}

TEST_CASE("no latency crossover where waves wait for each other, or q for the pool's reply") {
  AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), BlockOrder::early_q, 0);
  parameters.in_flight = 2;
  CHECK_FALSE(latency_crossover(parameters).has_value());
  CHECK_FALSE(pooled_latency_crossover(parameters).has_value());
  for (const auto block : {BlockOrder::standard, BlockOrder::swapped, BlockOrder::early_k}) {
    CHECK_FALSE(pooled_latency_crossover(test::ideal(test::qwen3_0_6b(), block, 0, 5)).has_value());
  }
}

TEST_CASE("standard and swapped hide a sweep behind k and v only") {
  for (const auto block : {BlockOrder::standard, BlockOrder::swapped}) {
    const AnalyticParameters near = test::ideal(test::qwen3_0_6b(), block, 0);
    CHECK(latency_crossover(near).value() == Approx(1024).epsilon(1e-12));
    CHECK(ffn_crossover(near).value() == Approx(4608).epsilon(1e-12));
    const AnalyticParameters far = test::ideal(test::qwen3_0_6b(), block, 0, 5);
    CHECK_FALSE(latency_crossover(far).has_value());  // 10 us there and back, 4.2 us of k, v
  }
}

TEST_CASE("crossovers divide by the batch and follow the ratio of bandwidths") {
  AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), BlockOrder::early_q, 0);
  parameters.batch = 8;
  CHECK(ffn_crossover(parameters).value() == Approx(4608.0 / 8).epsilon(1e-12));
  CHECK(latency_crossover(parameters).value() == Approx(5632.0 / 8).epsilon(1e-12));
  parameters.cache.bandwidth = BytesPerSecond(4e12);
  CHECK(ffn_crossover(parameters).value() == Approx(4608.0 / 2).epsilon(1e-12));
  CHECK(latency_crossover(parameters).value() == Approx(5632.0 / 2).epsilon(1e-12));
}

TEST_CASE("no crossover, or none ever") {
  AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), BlockOrder::early_q, 0);
  parameters.cache.bandwidth = BytesPerSecond{unlimited};
  CHECK(std::isinf(ffn_crossover(parameters).value()));
  CHECK(std::isinf(latency_crossover(parameters).value()));
  parameters.current_token = CurrentToken::append_first;
  CHECK_FALSE(latency_crossover(parameters).has_value());
}

TEST_CASE("the sweep hides up to the latency crossover and not one position further") {
  for (const auto block : {BlockOrder::standard, BlockOrder::early_q}) {
    const AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), block, 0);
    const auto at = static_cast<std::size_t>(std::lround(latency_crossover(parameters).value()));
    const double hidden = stack_at(parameters, 0);
    CHECK(stack_at(parameters, at - 1) == Approx(hidden).epsilon(1e-14));
    CHECK(stack_at(parameters, at) == Approx(hidden).epsilon(1e-14));
    CHECK(stack_at(parameters, at + 1) - hidden == Approx(28 * 4096e-12).epsilon(1e-6));
  }
}

TEST_CASE(
    "the latency crossover is where the recurrence starts to rise, launches and link counted") {
  std::size_t seen = 0;
  for (AnalyticParameters parameters : test::random_cases(1000)) {
    parameters.shape.layers = 1;  // so that no earlier k, v message holds up the port
    parameters.accounting = Accounting::weights_and_sweep;
    const auto crossover = latency_crossover(parameters);
    if (!crossover || *crossover > 1e6) {
      continue;
    }
    ++seen;
    const auto last_hidden = static_cast<std::size_t>(std::floor(*crossover * (1 - 1e-9)));
    const auto first_exposed = static_cast<std::size_t>(std::floor(*crossover * (1 + 1e-9))) + 2;
    const double hidden = stack_at(parameters, 0);
    CHECK(stack_at(parameters, last_hidden) == Approx(hidden).epsilon(1e-12));
    CHECK(stack_at(parameters, first_exposed) > hidden * (1 + 1e-12));
  }
  CHECK(seen > 50);
}

TEST_CASE("the latency crossover of a pool is where its recurrence starts to rise") {
  std::size_t seen = 0;
  for (std::size_t number = 0; number < 1000; ++number) {
    AnalyticParameters parameters = test::random_case(number);
    parameters.accounting = Accounting::weights_and_sweep;
    parameters.pooled_projections = number % 2 == 1;
    if (parameters.block == BlockOrder::shifted_q) {
      parameters.shape.layers = 1;  // else its later layers hide more than the first
    }
    const auto crossover = pooled_latency_crossover(parameters);
    if (!crossover || *crossover > 1e6) {
      continue;
    }
    ++seen;
    CAPTURE(number, *crossover, name_of(parameters.block));
    const auto last_hidden = static_cast<std::size_t>(std::floor(*crossover * (1 - 1e-9)));
    const auto first_exposed = static_cast<std::size_t>(std::floor(*crossover * (1 + 1e-9))) + 2;
    const double hidden = pooled_stack_at(parameters, 0);
    CHECK(pooled_stack_at(parameters, last_hidden) == Approx(hidden).epsilon(1e-12));
    CHECK(pooled_stack_at(parameters, first_exposed) > hidden * (1 + 1e-12));
  }
  CHECK(seen > 50);
}

}  // namespace qfs
