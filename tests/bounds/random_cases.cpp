// Seeded random cases: the simulator against the closed form that was written apart from it, and
// the conservation laws.
#include "tests/support/random_cases.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "analysis/closed_form.hpp"
#include "sim/report/ledger.hpp"
#include "sim/report/steps.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr std::uint64_t cases = 200;

struct Case {
  AnalyticParameters parameters;
  Arrangement arrangement;
  ExecutionTable table;
};

/// Three in four on two devices, the rest on one.
std::vector<Case> simulated_cases() {
  std::vector<Case> made;
  std::vector<std::function<SimulationResult()>> tasks;
  for (std::uint64_t number = 0; number < cases; ++number) {
    const Arrangement arrangement =
        number % 4 == 3 ? Arrangement::colocated : Arrangement::two_device;
    made.push_back({test::random_case(number), arrangement, {}});
    const SystemConfig config = test::system_config(made.back().parameters, arrangement);
    tasks.push_back([config] { return simulate(config); });
  }
  const std::vector<SimulationResult> results = run_isolated(tasks, default_jobs());
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i].table = results.at(i).table;
  }
  return made;
}

std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

/// Bytes that the whole run must move, from the shape alone.
struct Expected {
  std::int64_t weights = 0;
  std::int64_t kv_read = 0;
  std::int64_t kv_written = 0;
  std::int64_t wire = 0;
};

/// `values` values of which each `row` share a scale of four bytes, if the format has scales.
std::int64_t bytes_of(Format format, std::size_t values, std::size_t row) {
  const bool narrow = format != Format::fp32 && format != Format::fp16 && format != Format::bf16;
  const std::size_t width = format == Format::fp32 ? 4 : (narrow ? 1 : 2);
  return count(values * width + (format == Format::int8 ? 4 * values / row : 0));
}

/// What one request's cache moves for a token in one layer, and what of it is written, by 003: K
/// and V once, K^T or the copies written and read besides; a copied cache read and written whole.
struct CacheMoves {
  std::int64_t read = 0;
  std::int64_t written = 0;
};

CacheMoves cache_moves(const AnalyticParameters& p, std::size_t swept, std::size_t held) {
  const ModelShape& s = p.shape;
  const std::int64_t k_row = bytes_of(p.formats.kv, s.kv_width(), s.head_dim);
  const std::int64_t expanded_row = bytes_of(p.formats.kv, 2 * s.q_width(), s.head_dim);
  std::int64_t made = 0;  // a position
  if (p.attention.form == AttentionForm::transposed_k) {
    made = k_row;
  } else if (p.attention.form == AttentionForm::expanded_heads) {
    made = expanded_row;
  }
  const std::int64_t moved = p.attention.growth == CacheGrowth::copying ? count(held) : 0;
  const bool full = p.accounting == Accounting::full;  // else no append is charged
  return {count(swept) * (2 * k_row + made) + (full ? moved * 2 * k_row : 0),
          count(swept) * made + (full ? (moved + 1) * 2 * k_row : 0)};
}

Expected expected_bytes(const Case& c) {
  const AnalyticParameters& p = c.parameters;
  const ModelShape& s = p.shape;
  const std::int64_t batch = count(p.batch);
  const std::size_t into_hidden = s.q_width() + 2 * s.kv_width() + 2 * s.ffn;  // rows
  const std::int64_t static_layer =
      bytes_of(p.formats.weights, into_hidden * s.hidden, s.hidden) +
      bytes_of(p.formats.weights, s.q_width() * s.hidden, s.q_width()) +
      bytes_of(p.formats.weights, s.ffn * s.hidden, s.ffn);
  const std::int64_t head = bytes_of(p.formats.weights, s.vocab * s.hidden, s.hidden);
  const bool merge = p.current_token == CurrentToken::merge;
  Expected e;
  for (std::size_t t = 0; t < p.tokens; ++t) {
    e.weights += count(s.layers) * static_layer + (p.lm_head ? head : 0);
    const CacheMoves moves = cache_moves(p, p.context + t + (merge ? 0 : 1), p.context + t);
    e.kv_read += count(s.layers) * batch * moves.read;
    e.kv_written += count(s.layers) * batch * moves.written;
    // q there, k and v there, the result back.
    e.wire +=
        count(s.layers) * batch *
        (2 * bytes_of(p.formats.wire, s.q_width() + s.kv_width(), s.head_dim) + 4 * count(s.heads));
  }
  if (c.arrangement == Arrangement::colocated) {
    e.wire = 0;
  }
  return e;
}

}  // namespace

TEST_CASE("200 random cases: simulated equals closed form") {
  const std::vector<Case> all = simulated_cases();
  REQUIRE(all.size() == cases);
  double worst = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Case& c = all[i];
    const AnalyticTimes times = c.arrangement == Arrangement::colocated
                                    ? colocated_times(c.parameters)
                                    : two_device_times(c.parameters);
    CAPTURE(i, name_of(c.arrangement), name_of(c.parameters.block));
    // The simulator rounds each row to a femtosecond, the closed form does not.
    const double rounding = 1e-15 * static_cast<double>(c.table.rows.size());
    double closed = 0;
    for (std::size_t t = 0; t < c.parameters.tokens; ++t) {
      closed += times.step_times[t].value();
      const double simulated = to_seconds(test::last_output(c.table, StepId(t))).value();
      CHECK(simulated == Approx(closed).epsilon(1e-9).margin(rounding));
      worst = std::max(worst, closed > 0 ? std::abs(simulated / closed - 1) : 0);
    }
  }
  WARN("largest relative deviation " << worst);
}

TEST_CASE("200 random cases: bytes in are bytes out") {
  for (const Case& c : simulated_cases()) {
    const Expected expected = expected_bytes(c);
    Bytes weights;
    Bytes kv_read;
    Bytes kv_written;
    Bytes wire;
    for (const Row& row : c.table.rows) {
      weights += row.work.weight_bytes;
      kv_read += row.work.kv_read_bytes;
      kv_written += row.work.kv_written_bytes;
      wire += row.wire_bytes;
    }
    CHECK(weights.value() == expected.weights);
    CHECK(kv_read.value() == expected.kv_read);
    CHECK(kv_written.value() == expected.kv_written);
    CHECK(wire.value() == expected.wire);
  }
}

TEST_CASE("200 random cases: the ledger of every step adds up to it, to the femtosecond") {
  std::size_t ledgers_seen = 0;
  for (const Case& c : simulated_cases()) {
    const std::vector<StepTime> steps = steps_of(c.table);
    REQUIRE(steps.size() == c.parameters.tokens);
    const std::vector<StepLedger> ledgers =
        ledgers_of(c.table, steps, {RequestId(0), c.parameters.batch});
    REQUIRE(ledgers.size() == steps.size());
    for (std::size_t t = 0; t < steps.size(); ++t) {
      CHECK(ledgers[t].total() == steps[t].length());
      CHECK(steps[t].end == test::last_output(c.table, StepId(t)));
      CHECK(ledgers[t].sweep_exposed <= ledgers[t].sweep_busy);
      ++ledgers_seen;
    }
  }
  CHECK(ledgers_seen > cases);
}

TEST_CASE(
    "200 random cases: nothing happens before its inputs, and an executor does one thing at a "
    "time") {
  for (const Case& c : simulated_cases()) {
    std::map<std::size_t, Femtoseconds> free;
    for (const Row& row : c.table.rows) {
      CHECK(row.start >= row.ready);
      CHECK(row.end >= row.start);
      for (const Dependency& dep : row.deps) {
        CHECK(dep.arrival <= row.start);
        CHECK(c.table.rows.at(dep.row.value()).end == dep.arrival);
      }
      if (c.table.resources.at(row.resource).kind == ResourceKind::executor) {
        CHECK(row.start >= free[row.resource]);
        free[row.resource] = row.end;
      }
    }
  }
}

}  // namespace qfs
