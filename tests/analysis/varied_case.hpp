// test::random_case with what only some arrangements use: waves, a split cache, pooled projections,
// ranks.
#pragma once

#include "base/random.hpp"
#include "tests/support/random_cases.hpp"

namespace qfs::test {

inline AnalyticParameters varied_case(std::uint64_t number) {
  AnalyticParameters parameters = random_case(number);
  const Random random(4, number);
  std::uint64_t draws = 0;
  const auto below = [&](std::uint64_t count) { return random.below(draws++, count); };
  parameters.in_flight = 1 + below(3);
  parameters.split.devices = 1 + below(4);
  parameters.split.by = enum_names<SplitBy>[below(3)].first;
  parameters.own_ports = below(2) == 0;
  parameters.pooled_projections = below(2) == 0;
  parameters.ranks = 2 + below(2);
  const std::size_t divisor = parameters.split.devices * parameters.ranks;
  parameters.shape.heads *= divisor;
  parameters.shape.kv_heads *= divisor;
  parameters.shape.ffn *= parameters.ranks;
  parameters.shape.vocab *= parameters.ranks;
  for (std::size_t r = 0; r < parameters.batch * parameters.in_flight; ++r) {
    std::vector<std::size_t> rows(parameters.split.devices);
    for (std::size_t position = 0; position < parameters.context; ++position) {
      ++rows[below(below(2) == 0 ? 1 : rows.size())];  // uneven
    }
    parameters.scattered_rows.push_back(rows);
  }
  return parameters;
}

}  // namespace qfs::test
