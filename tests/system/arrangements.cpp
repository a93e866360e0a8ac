// Every block order on every arrangement with real numbers: whatever the split, the batch and the
// order in which things happen, the values are those of the formulas.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "sim/run/isolate.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/numeric_run.hpp"

namespace qfs {
namespace {

using test::NumericCase;
using test::NumericRun;

constexpr double end_to_end_fp32 = 3e-6;
// Two runs in fp32 that add up in different orders, from the same initial cache and inputs.
constexpr double split_fp32 = 1e-5;
// One token's stack with everything on the wire in bf16: both are off by their rounding.
constexpr double split_bf16 = 5e-2;

std::vector<NumericRun> run_all(const std::vector<NumericCase>& cases) {
  std::vector<std::function<NumericRun()>> tasks;
  for (const NumericCase& c : cases) {
    tasks.emplace_back([&c] { return test::run_numeric(c); });
  }
  return run_isolated(tasks, default_jobs());
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double square = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += std::pow(double{a[i]} - double{b[i]}, 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(square / norm);
}

/// On 1, 2, 3 and 8 cache devices by any split; the merge order changes from case to case.
std::vector<NumericCase> split_cases(const NumericCase& base) {
  std::vector<NumericCase> cases{base};
  std::size_t made = static_cast<std::size_t>(base.block) + (base.formats.wire == Format::bf16);
  for (const std::size_t devices : {2U, 3U, 8U}) {
    for (const auto& [by, name] : enum_names<SplitBy>) {
      NumericCase next = base;
      next.split = {devices, by, enum_names<MergeOrder>[made % 3].first};
      next.ports = made % 2 == 0 ? Ports::shared : Ports::own;
      next.kv_heads = by == SplitBy::heads && devices == 3 ? 6 : 8;
      cases.push_back(next);
      ++made;
    }
  }
  return cases;
}

/// The pool's instances and batching change from case to case.
std::vector<NumericCase> pooled_cases(NumericCase base, Projections projections) {
  base.arrangement = Arrangement::pooled;
  base.pool.projections = projections;
  std::vector<NumericCase> cases = split_cases(base);
  std::size_t made = static_cast<std::size_t>(base.block);
  for (NumericCase& c : cases) {
    c.pool.instances = 1 + made % 3;
    c.pool.batching.products = enum_names<Gather>[made % 3].first;
    c.pool.batching.sweeps = enum_names<Gather>[(made / 3 + made) % 3].first;
    c.pool.batching.window = Seconds(made % 2 == 0 ? 0 : 3e-6);
    ++made;
  }
  return cases;
}

std::vector<NumericCase> cases_of(Arrangement arrangement, const NumericCase& base) {
  NumericCase c = base;
  c.arrangement = arrangement;
  std::vector<NumericCase> cases;
  switch (arrangement) {
    case Arrangement::colocated:
      return {c};
    case Arrangement::two_device:
      return split_cases(c);
    case Arrangement::pooled:
      cases = pooled_cases(c, Projections::cache_side);
      if (c.block != BlockOrder::single_q) {
        const std::vector<NumericCase> more = pooled_cases(c, Projections::pool);
        cases.insert(cases.end(), more.begin(), more.end());
      }
      return cases;
    case Arrangement::tensor_parallel:
      for (const std::size_t ranks : {2U, 3U, 8U}) {
        c.ranks = ranks;
        c.kv_heads = ranks == 3 ? 6 : 8;
        cases.push_back(c);
      }
      return cases;
  }
  return cases;
}

/// Everything on one device, in the shape of the case.
NumericCase unsplit(const NumericCase& c) {
  NumericCase whole = c;
  whole.arrangement = Arrangement::colocated;
  whole.split = {};
  whole.ranks = 1;
  whole.pool = {};
  return whole;
}

void check_against_unsplit(const NumericCase& c, const NumericRun& run, const NumericRun& whole) {
  const std::size_t requests = c.contexts.size();
  REQUIRE(whole.outputs.size() == requests * c.tokens);
  REQUIRE(run.outputs.size() == whole.outputs.size() * c.ranks);
  const bool exact = c.formats.wire == Format::fp32;
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const std::size_t of_whole = i / c.ranks;
    const bool first_step = of_whole % c.tokens == 0;
    if (exact || first_step) {  // later inputs may differ where a rounded arg max does
      CHECK(distance(run.outputs[i], whole.outputs[of_whole]) <= (exact ? split_fp32 : split_bf16));
    }
    CHECK(run.outputs[i] == run.outputs[of_whole * c.ranks]);  // the same bits on every rank
  }
}

void check_arrangement(Arrangement arrangement) {
  std::vector<NumericCase> cases;
  for (const auto& [block, block_name] : enum_names<BlockOrder>) {
    for (const auto& [current_token, token_name] : enum_names<CurrentToken>) {
      for (const Formats& formats : {test::fp32_throughout, test::bf16_wire}) {
        NumericCase base;
        base.block = block;
        base.current_token = current_token;
        base.formats = formats;
        const std::vector<NumericCase> more = cases_of(arrangement, base);
        cases.insert(cases.end(), more.begin(), more.end());
      }
    }
  }
  const std::vector<NumericRun> runs = run_all(cases);
  std::vector<NumericCase> wholes;
  std::transform(cases.begin(), cases.end(), std::back_inserter(wholes), unsplit);
  const std::vector<NumericRun> whole_runs = run_all(wholes);
  double worst_fp32 = 0;
  double worst_bf16 = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(test::text_of(cases[i]));
    CHECK(runs[i].report.passed());
    CHECK(runs[i].report.end_to_end.size() == 4 * 3);
    const bool exact = cases[i].formats.wire == Format::fp32;
    for (const EndToEndError& error : runs[i].report.end_to_end) {
      double& worst = exact ? worst_fp32 : worst_bf16;
      worst = std::max(worst, error.relative_error);
      CHECK((!exact || error.relative_error < end_to_end_fp32));
    }
    check_against_unsplit(cases[i], runs[i], whole_runs[i]);
  }
  CHECK(worst_bf16 > 1e-3);  // or nothing was rounded
  WARN(cases.size() << " runs, worst end to end: fp32 " << worst_fp32 << ", bf16 " << worst_bf16);
}

}  // namespace

TEST_CASE("every block order on one device") { check_arrangement(Arrangement::colocated); }
TEST_CASE("every block order and split on two kinds of device") {
  check_arrangement(Arrangement::two_device);
}
TEST_CASE("every block order and split with a pool") { check_arrangement(Arrangement::pooled); }
TEST_CASE("every block order on tensor-parallel ranks") {
  check_arrangement(Arrangement::tensor_parallel);
}

TEST_CASE("a fixed order and a tree give the same bits again, whatever the latency") {
  std::vector<NumericCase> cases;
  for (const Arrangement arrangement : {Arrangement::two_device, Arrangement::pooled}) {
    for (const BlockOrder block : {BlockOrder::early_q, BlockOrder::standard}) {
      for (const MergeOrder merge : {MergeOrder::fixed, MergeOrder::tree}) {
        for (const SplitBy by : {SplitBy::positions, SplitBy::any, SplitBy::heads}) {
          NumericCase c{.arrangement = arrangement, .block = block};
          c.split = {8, by, merge};
          c.contexts = {40, 3, 37, 12};
          for (const double latency_us : {2.0, 2.0, 0.0, 33.0}) {
            c.latency_us = latency_us;
            cases.push_back(c);
          }
          cases.back().cache_bytes_per_s = 1e7;
        }
      }
    }
  }
  const std::vector<NumericRun> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CAPTURE(test::text_of(cases[i]), cases[i].latency_us);
    CHECK(runs[i].report.passed());
    CHECK(runs[i].outputs == runs[i - i % 4].outputs);
    CHECK(runs[i].tokens == runs[i - i % 4].tokens);
  }
  // The two orders are not one and the same.
  CHECK(runs[0].outputs != runs[12].outputs);
}

TEST_CASE("the order of arrival gives values within bounds, and other bits at times") {
  std::vector<NumericCase> cases;
  for (const Arrangement arrangement : {Arrangement::two_device, Arrangement::pooled}) {
    for (const MergeOrder merge : {MergeOrder::fixed, MergeOrder::arrival}) {
      NumericCase c{.arrangement = arrangement};
      c.split = {8, SplitBy::any, merge};
      c.contexts = {400, 131, 37, 12};
      cases.push_back(c);
    }
  }
  const std::vector<NumericRun> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); i += 2) {
    CAPTURE(test::text_of(cases[i]));
    CHECK(runs[i + 1].report.passed());
    CHECK(runs[i + 1].outputs != runs[i].outputs);
    for (std::size_t j = 0; j < runs[i].outputs.size(); ++j) {
      CHECK(distance(runs[i + 1].outputs[j], runs[i].outputs[j]) <= split_fp32);
    }
  }
}

}  // namespace qfs
