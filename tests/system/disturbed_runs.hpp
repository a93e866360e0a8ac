// Systems with and without disturbances, and the comparison of the two: only time may move.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "sim/run/isolate.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/numeric_run.hpp"

namespace qfs::test {

struct Disturbed {
  NumericCase system;
  Disturbances disturbances;
  bool numerics = true;
  SoftmaxChoice softmax = {};
  std::size_t layers = 3;
};

inline SimulationResult run(const Disturbed& disturbed) {
  SystemConfig config = system_config(disturbed.system);
  config.disturbances = disturbed.disturbances;
  config.rules.attention.softmax = disturbed.softmax;
  config.graph.softmax = disturbed.softmax;
  config.rules.shape.layers = disturbed.layers;
  if (!disturbed.numerics) {
    return simulate(config);
  }
  const NumericCase& c = disturbed.system;
  const Inputs inputs({config.rules.shape, c.formats, 5, c.contexts, c.tokens, c.lm_head});
  const NumericRequest request{inputs, false};
  return simulate(config, &request);
}

inline std::vector<SimulationResult> run_all(const std::vector<Disturbed>& runs) {
  std::vector<std::function<SimulationResult()>> tasks;
  for (const Disturbed& disturbed : runs) {
    tasks.emplace_back([&disturbed] { return run(disturbed); });
  }
  return run_isolated(tasks, default_jobs());
}

/// What of a row can be seen in a report.
inline auto seen(const Row& row) {
  return std::tuple(row.kind, row.op, row.carries, row.layer, row.shard, row.step, row.members,
                    row.attempt, row.resource, row.ready, row.start, row.end, row.wire_bytes);
}

/// In whatever order they stand that began at the same instant.
inline bool same_rows(const ExecutionTable& a, const ExecutionTable& b) {
  const auto sorted = [](const ExecutionTable& table) {
    std::vector<decltype(seen(table.rows.front()))> rows;
    std::transform(table.rows.begin(), table.rows.end(), std::back_inserter(rows), seen);
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  return sorted(a) == sorted(b);
}

inline bool same_times(const ExecutionTable& a, const ExecutionTable& b) {
  return std::equal(
      a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
      [](const Row& x, const Row& y) { return x.start == y.start && x.end == y.end; });
}

inline std::string place(const ExecutionTable& table, const Row& row) {
  return table.resources[row.resource].name;
}

inline std::size_t count(const ExecutionTable& table,
                         const std::function<bool(const Row&)>& qualifies) {
  return static_cast<std::size_t>(std::count_if(table.rows.begin(), table.rows.end(), qualifies));
}

inline NumericCase pooled(BlockOrder block, std::size_t instances,
                          Projections projections = Projections::cache_side) {
  NumericCase c;
  c.arrangement = Arrangement::pooled;
  c.block = block;
  c.pool.instances = instances;
  c.pool.projections = projections;
  c.wave = 4;  // all requests: batch 4
  return c;
}

inline NumericCase split(std::size_t devices, SplitBy by, MergeOrder merge = MergeOrder::fixed) {
  NumericCase c;
  c.split = {devices, by, merge};
  return c;
}

inline NumericCase parallel(std::size_t ranks) {
  NumericCase c;
  c.arrangement = Arrangement::tensor_parallel;
  c.ranks = ranks;
  return c;
}

/// Every arrangement; batches of 2 in two waves, or of 4.
inline std::vector<NumericCase> systems(BlockOrder block) {
  NumericCase colocated;
  colocated.arrangement = Arrangement::colocated;
  NumericCase split_pool = pooled(block, 2);
  split_pool.split = {3, SplitBy::any, MergeOrder::tree};
  NumericCase append_first = split(2, SplitBy::positions);
  append_first.current_token = CurrentToken::append_first;
  std::vector<NumericCase> all{{},
                               colocated,
                               split(2, SplitBy::heads),
                               split(3, SplitBy::positions, MergeOrder::tree),
                               split(8, SplitBy::any),
                               append_first,
                               pooled(block, 1),
                               pooled(block, 2),
                               pooled(block, 3),
                               split_pool,
                               parallel(2),
                               parallel(8)};
  if (block != BlockOrder::single_q) {
    all.push_back(pooled(block, 3, Projections::pool));
  }
  for (NumericCase& c : all) {
    c.block = block;
  }
  return all;
}

constexpr std::size_t block_orders = enum_names<BlockOrder>.size();
inline BlockOrder block_number(std::size_t index) {
  return enum_names<BlockOrder>[index % block_orders].first;
}

/// Run number `index` of a series over all arrangements and block orders.
inline NumericCase system_number(std::size_t index) {
  const std::vector<NumericCase> all = systems(block_number(index));
  return all[index / block_orders % all.size()];
}

inline Stalls stalls(std::uint64_t seed, double probability = 0.3, double longest = 20e-6) {
  return {probability, Seconds(longest), seed};
}

inline MessageFaults bad_link(std::uint64_t seed) {
  return {0.2, 0.2, Seconds(7e-6), Seconds(9e-6), seed};
}

/// Runs each system disturbed and undisturbed. Gives the disturbed tables, all of whose values are
/// those of the undisturbed runs and whose times are not.
inline std::vector<ExecutionTable> check_only_time_moves(const std::vector<Disturbed>& disturbed) {
  std::vector<Disturbed> runs = disturbed;
  for (const Disturbed& one : disturbed) {
    runs.push_back({one.system, {}, true, one.softmax, one.layers});
  }
  std::vector<SimulationResult> results = run_all(runs);
  std::vector<ExecutionTable> tables;
  for (std::size_t i = 0; i < disturbed.size(); ++i) {
    const SimulationResult& plain = results[disturbed.size() + i];
    INFO(i << ": " << text_of(disturbed[i].system));
    CHECK(plain.digest != 0);
    CHECK(results[i].digest == plain.digest);
    CHECK(!same_times(results[i].table, plain.table));
    tables.push_back(std::move(results[i].table));
  }
  return tables;
}

}  // namespace qfs::test
