// Staged blocks of a cache: what they save, what the watermark is for, and that the numeric check
// catches a block taken for complete that was copied too early (001 section 4).
#include <algorithm>
#include <map>
#include <tuple>

#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "system/simulation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

struct Setup {
  PrefetchConfig prefetch{};
  double append_delay_us = 0;
  double cache_bytes_per_s = 1e12;
  CacheSplit split{};
  CurrentToken current_token = CurrentToken::merge;
  std::size_t in_flight = 1;
};

PrefetchConfig ahead(std::size_t blocks, Watermark watermark = Watermark::on) {
  return {blocks, std::nullopt, watermark};
}

SimulationResult run(const Setup& setup) {
  const ModelShape shape = test::tiny_shape();
  SystemConfig config;
  config.cache.prefetch = setup.prefetch;
  config.cache.append_delay = Seconds(setup.append_delay_us * 1e-6);
  config.compute_device.launch_overhead = Seconds(1e-6);
  config.cache_device.bandwidth = BytesPerSecond(setup.cache_bytes_per_s);
  config.rules = {shape, {}, Accounting::full, {}};
  config.graph = {.block = BlockOrder::standard,
                  .current_token = setup.current_token,
                  .contexts = std::vector<std::size_t>(2 * setup.in_flight, 33),
                  .tokens = 4,
                  .split = setup.split};
  config.wave = 2;
  const std::function<SimulationResult()> task = [&] {
    const Inputs inputs({shape, {}, 5, config.graph.contexts, config.graph.tokens, true});
    const NumericRequest request{inputs};
    return simulate(config, &request);
  };
  return run_isolated<SimulationResult>({task}, 1).front();
}

std::size_t rows_of(const ExecutionTable& table, RowKind kind) {
  return static_cast<std::size_t>(std::count_if(table.rows.begin(), table.rows.end(),
                                                [&](const Row& row) { return row.kind == kind; }));
}

/// Bytes of the caches that were read for each sweep, however they came.
std::map<std::tuple<StepId, LayerId, std::size_t>, std::int64_t> read_for_sweeps(
    const ExecutionTable& table) {
  std::map<std::tuple<StepId, LayerId, std::size_t>, std::int64_t> read;
  for (const Row& row : table.rows) {
    if (!row.is_message() && row.op == OpKind::sweep) {
      read[{row.step, row.layer, row.shard}] += row.work.kv_read_bytes.value();
    }
  }
  return read;
}

Femtoseconds end_of(const ExecutionTable& table) {
  Femtoseconds last;
  for (const Row& row : table.rows) {
    if (row.is_operation() && row.op != OpKind::append) {
      last = std::max(last, row.end);
    }
  }
  return last;
}

const OperationError& first_failure(const SimulationResult& result) {
  REQUIRE(result.numerics.has_value());
  CHECK(!result.numerics->passed());
  REQUIRE(!result.numerics->failures.empty());
  return result.numerics->failures.front();
}

}  // namespace

TEST_CASE("a staged block with its watermark: the same numbers, the same bytes, no later") {
  const SimulationResult plain = run({});
  REQUIRE(plain.numerics->passed());
  for (const std::size_t blocks : {1, 2, 3, 5}) {
    CAPTURE(blocks);
    const SimulationResult staged = run({.prefetch = ahead(blocks)});
    CHECK(staged.numerics->passed());
    CHECK(staged.digest == plain.digest);
    CHECK(rows_of(staged.table, RowKind::prefetch) == 4 * 3);  // every sweep of 4 steps
    CHECK(read_for_sweeps(staged.table) == read_for_sweeps(plain.table));
    CHECK(end_of(staged.table) <= end_of(plain.table));
  }
}

TEST_CASE("a slow cache: staging hides sweeps that nothing else hides") {
  const Setup slow{.cache_bytes_per_s = 1e9};
  Setup staged = slow;
  staged.prefetch = ahead(1);
  const SimulationResult without = run(slow);
  const SimulationResult with = run(staged);
  CHECK(with.digest == without.digest);
  CHECK(end_of(with.table) < end_of(without.table));
}

TEST_CASE(
    "a block staged before the last append is short by one row, which the tail fetch brings") {
  const SimulationResult result = run({.prefetch = ahead(3)});
  CHECK(result.numerics->passed());
  // In each step after the first, every layer's block was copied before the append of the step
  // before had landed.
  CHECK(rows_of(result.table, RowKind::tail_fetch) == 3 * 3);
  const std::int64_t row_bytes = 2 * 2 * 16 * 2;  // k and v, 2 requests, 16 values, bf16
  for (const Row& row : result.table.rows) {
    if (row.kind == RowKind::tail_fetch) {
      CHECK(row.work.kv_read_bytes == Bytes(row_bytes));
    }
  }
}

TEST_CASE("watermark off: plausible, silently wrong, caught and named") {
  const SimulationResult result = run({.prefetch = ahead(3, Watermark::off)});
  const OperationError& failure = first_failure(result);
  CHECK(failure.kind == OpKind::sweep);
  CHECK(failure.layer == LayerId(0));
  CHECK(failure.step == StepId(1));
  CHECK(failure.relative_error < 0.5);  // nothing that an eye would catch
  CHECK(failure.missing_rows == 1);
  CHECK(rows_of(result.table, RowKind::tail_fetch) == 0);
}

TEST_CASE("watermark off, but nothing is staged too early: right") {
  const SimulationResult result = run({.prefetch = ahead(1, Watermark::off)});
  CHECK(result.numerics->passed());
}

TEST_CASE("a late append makes even the next layer's block stale") {
  const Setup late{.prefetch = ahead(1), .append_delay_us = 20};
  const SimulationResult guarded = run(late);
  CHECK(guarded.numerics->passed());
  CHECK(rows_of(guarded.table, RowKind::tail_fetch) > 0);
  Setup open = late;
  open.prefetch.watermark = Watermark::off;
  CHECK(first_failure(run(open)).kind == OpKind::sweep);
}

TEST_CASE(
    "an append that lands between copy and check: the watermark must be read before the copy") {
  // A slow cache: copies take long enough for appends to land during them.
  const Setup racing{.prefetch = ahead(3), .append_delay_us = 3, .cache_bytes_per_s = 2e9};
  CHECK(run(racing).numerics->passed());
  Setup late = racing;
  late.prefetch.watermark = Watermark::late;
  CHECK(first_failure(run(late)).kind == OpKind::sweep);
}

TEST_CASE("a small buffer holds a part of the rows, which is never stale") {
  const std::int64_t ten_rows = 10 * 2 * 16 * 2;
  const SimulationResult plain = run({});
  for (const Watermark watermark : {Watermark::on, Watermark::off}) {
    PrefetchConfig small = ahead(1, watermark);
    small.staging = Bytes(ten_rows);
    const SimulationResult result = run({.prefetch = small});
    CHECK(result.numerics->passed());
    CHECK(result.digest == plain.digest);
    for (const Row& row : result.table.rows) {
      CHECK((row.kind != RowKind::prefetch || row.work.kv_read_bytes == Bytes(ten_rows)));
    }
  }
}

TEST_CASE("staging with split caches, the current token first, and two waves") {
  for (const SplitBy by : {SplitBy::heads, SplitBy::positions, SplitBy::any}) {
    for (const CurrentToken token : {CurrentToken::merge, CurrentToken::append_first}) {
      CAPTURE(name_of(by), name_of(token));
      Setup setup{.split = {2, by}, .current_token = token, .in_flight = 2};
      const SimulationResult plain = run(setup);
      setup.prefetch = ahead(2);
      const SimulationResult staged = run(setup);
      CHECK(staged.numerics->passed());
      CHECK(staged.digest == plain.digest);
      CHECK(rows_of(staged.table, RowKind::prefetch) > 0);
      CHECK(read_for_sweeps(staged.table) == read_for_sweeps(plain.table));
    }
  }
}

}  // namespace qfs
