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

}  // namespace qfs
