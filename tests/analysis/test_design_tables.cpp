// Every stack time that DESIGN.md 7 prints.
#include <cmath>
#include <vector>

#include "analysis/closed_form.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

constexpr double printed = 1e-6;  // relative; the tables have three decimals of a microsecond

/// A line of the tables; a NaN where DESIGN.md prints nothing.
struct Row {
  double latency_us;
  std::size_t context;
  double standard_us;  // swapped too
  double early_q_us;   // early_qk and parallel too
  double early_k_us = NAN;
  double shifted_q_us = NAN;
  double single_q_us = NAN;
  double pooled_early_q_us = NAN;
};

double printed_us(const Row& row, BlockOrder block) {
  switch (block) {
    case BlockOrder::standard:
    case BlockOrder::swapped:
      return row.standard_us;
    case BlockOrder::early_q:
    case BlockOrder::early_qk:
    case BlockOrder::parallel:
      return row.early_q_us;
    case BlockOrder::early_k:
      return row.early_k_us;
    case BlockOrder::shifted_q:
      return row.shifted_q_us;
    case BlockOrder::single_q:
      return row.single_q_us;
  }
  return NAN;
}

double two_device_us(const AnalyticParameters& parameters) {
  return to_microseconds(two_device_times(parameters).stack_time);
}

double pooled_us(const AnalyticParameters& parameters) {
  return to_microseconds(pooled_times(parameters).stack_time);
}

void check_rows(const ModelShape& shape, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    for (const auto& [block, name] : enum_names<BlockOrder>) {
      if (const double want = printed_us(row, block); !std::isnan(want)) {
        CAPTURE(row.latency_us, row.context, name);
        CHECK(two_device_us(test::ideal(shape, block, row.context, row.latency_us)) ==
              Approx(want).epsilon(printed));
      }
    }
    if (!std::isnan(row.pooled_early_q_us)) {
      CAPTURE(row.latency_us, row.context);
      CHECK(pooled_us(test::ideal(shape, BlockOrder::early_q, row.context, row.latency_us)) ==
            Approx(row.pooled_early_q_us).epsilon(printed));
    }
  }
}

}  // namespace

TEST_CASE("stack times of Qwen3-0.6B on two devices and with a pool") {
  check_rows(test::qwen3_0_6b(),
             {{0, 1024, 880.804, 880.804, 939.524, 880.804, 880.804, 763.363},
              {0, 4608, 1291.846, 880.804, 1350.566, 895.484, 880.804, 763.363},
              {0, 5632, 1409.286, 880.804, 1468.006, 899.678, 880.804, 880.804},
              {0, 16384, 2642.412, 2113.929, 2701.132, 2132.804, 1906.311, 2113.929},
              {0, 65536, 8279.556, 7751.074, 8338.276, 7769.948, 7543.456, 7751.074},
              {5, 1024, 1160.804, 880.804, 1219.524, 890.804, 880.804, 1043.363},
              {5, 5632, 1689.286, 1160.804, 1748.006, 1179.678, 880.804, 1043.363},
              {5, 65536, 8559.556, 8031.074, 8618.276, 8049.948, 7553.456, 7751.074}});
}

TEST_CASE("stack times of Qwen3-4B on two devices and with a pool") {
  check_rows(test::qwen3_4b(), {{0, 16384, 9305.063, 7266.632, NAN, NAN, NAN, 6511.657},
                                {0, 65536, 16552.821, 11173.626, NAN, NAN, 9855.042, 11173.626},
                                {5, 16384, 9665.063, 7266.632, 9853.807, 7333.255, NAN, 6871.657}});
}

TEST_CASE("stack times with unequal bandwidths") {
  const auto with = [](BlockOrder block, double compute, double cache) {
    AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), block, 16384, 5);
    parameters.compute.bandwidth = BytesPerSecond(compute);
    parameters.cache.bandwidth = BytesPerSecond(cache);
    return parameters;
  };
  const auto time = [&](BlockOrder block, double compute, double cache) {
    return two_device_us(with(block, compute, cache));
  };
  CHECK(time(BlockOrder::standard, 4e12, 1e12) == Approx(2349.889).epsilon(printed));
  CHECK(time(BlockOrder::early_q, 4e12, 1e12) == Approx(2217.768).epsilon(printed));
  CHECK(time(BlockOrder::shifted_q, 4e12, 1e12) == Approx(2222.487).epsilon(printed));
  CHECK(time(BlockOrder::shifted_q, 1e12, 4e12) == Approx(1003.517).epsilon(printed));
  CHECK(time(BlockOrder::standard, 1e12, 4e12) == Approx(1513.125).epsilon(printed));
  CHECK(time(BlockOrder::early_q, 1e12, 4e12) == Approx(984.643).epsilon(printed));
  CHECK(pooled_us(with(BlockOrder::early_q, 4e12, 1e12)) == Approx(2113.929).epsilon(printed));
  CHECK(pooled_us(with(BlockOrder::early_q, 1e12, 4e12)) == Approx(955.283).epsilon(printed));
}

TEST_CASE("stack times of Qwen3-0.6B on one device, the same in every order") {
  for (const auto& [block, name] : enum_names<BlockOrder>) {
    const auto time = [&](std::size_t context) {
      const AnalyticParameters parameters = test::ideal(test::qwen3_0_6b(), block, context);
      return to_microseconds(colocated_times(parameters).stack_time);
    };
    CAPTURE(name);
    CHECK(time(1024) == Approx(998.244).epsilon(printed));
    CHECK(time(65536) == Approx(8396.997).epsilon(printed));
  }
}

}  // namespace qfs
