// Seeded random cases: the simulator against the closed form that was written apart from it, and
// the conservation laws, in every arrangement.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "analysis/closed_form.hpp"
#include "base/random.hpp"
#include "decode/cache_split.hpp"
#include "sim/report/ledger.hpp"
#include "sim/report/steps.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "tests/analysis/varied_case.hpp"
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

ShardPlan plan_of(const AnalyticParameters& p, std::size_t request) {
  return {p.split, request, p.context_of(request % p.batch), p.tokens};
}

/// The arrangements in turn, with all that they can be varied in.
Case drawn_case(std::uint64_t number) {
  Case drawn{test::varied_case(number), enum_names<Arrangement>[number % 4].first, {}};
  AnalyticParameters& p = drawn.parameters;
  if (drawn.arrangement == Arrangement::colocated ||
      drawn.arrangement == Arrangement::tensor_parallel) {
    p.split = {};
  }
  if (drawn.arrangement != Arrangement::tensor_parallel) {
    p.ranks = 1;
  }
  // The query of a pool has no stream to come back to in this order; the configuration refuses it.
  p.pooled_projections = p.pooled_projections && p.block != BlockOrder::single_q &&
                         drawn.arrangement == Arrangement::pooled;
  if (number / 4 % 3 == 0) {  // requests of different contexts
    const Random random(21, number);
    for (std::size_t member = 0; member < p.batch; ++member) {
      p.contexts.push_back(random.below(member, 300));
    }
  }
  for (std::size_t request = 0; request < p.scattered_rows.size(); ++request) {
    p.scattered_rows[request].clear();
    for (std::size_t shard = 0; shard < p.split.devices; ++shard) {
      p.scattered_rows[request].push_back(plan_of(p, request).initial(shard).size());
    }
  }
  return drawn;
}

std::vector<Case> simulated_cases() {
  std::vector<Case> made;
  std::vector<std::function<SimulationResult()>> tasks;
  for (std::uint64_t number = 0; number < cases; ++number) {
    made.push_back(drawn_case(number));
    const SystemConfig config =
        test::system_config(made.back().parameters, made.back().arrangement);
    tasks.push_back([config] { return simulate(config); });
  }
  std::vector<SimulationResult> results = run_isolated(tasks, default_jobs());
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i].table = std::move(results.at(i).table);
  }
  return made;
}

AnalyticTimes times_of(const Case& c) {
  switch (c.arrangement) {
    case Arrangement::colocated:
      return colocated_times(c.parameters);
    case Arrangement::two_device:
      return two_device_times(c.parameters);
    case Arrangement::pooled:
      return pooled_times(c.parameters);
    case Arrangement::tensor_parallel:
      break;
  }
  return tensor_parallel_times(c.parameters);
}

/// When the last operation of the wave's step ends that its output waits for.
Femtoseconds wave_step_end(const Case& c, std::size_t wave, std::size_t step) {
  Femtoseconds end;
  for (const Row& row : c.table.rows) {
    const bool counts = row.is_operation() && row.op != OpKind::append && row.step == StepId(step);
    if (counts && row.members.front().request.value() / c.parameters.batch == wave) {
      end = std::max(end, row.end);
    }
  }
  return end;
}

std::string text_of(const Case& c) {
  const AnalyticParameters& p = c.parameters;
  return std::string(name_of(c.arrangement)) + " " + std::string(name_of(p.block)) + " " +
         std::string(name_of(p.current_token)) + " in_flight " + std::to_string(p.in_flight) +
         " batch " + std::to_string(p.batch) + " devices " + std::to_string(p.split.devices) +
         " by " + std::string(name_of(p.split.by)) + (p.own_ports ? " own ports" : "") +
         (p.pooled_projections ? " projections" : "") + (p.lm_head ? " head" : "") + " ranks " +
         std::to_string(p.ranks) + " context " + std::to_string(p.context) + " layers " +
         std::to_string(p.shape.layers) + " tokens " + std::to_string(p.tokens);
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

/// Of one pass of a wave through the layers; ranks cut some rows, and with them their scales.
std::int64_t weight_bytes(const AnalyticParameters& p) {
  const ModelShape& s = p.shape;
  const std::size_t into_hidden = s.q_width() + 2 * s.kv_width() + 2 * s.ffn;  // rows
  const std::int64_t layer =
      bytes_of(p.formats.weights, into_hidden * s.hidden, s.hidden) +
      bytes_of(p.formats.weights, s.q_width() * s.hidden, s.q_width() / p.ranks) +
      bytes_of(p.formats.weights, s.ffn * s.hidden, s.ffn / p.ranks);
  const std::int64_t head = bytes_of(p.formats.weights, s.vocab * s.hidden, s.hidden);
  return count(s.layers) * layer + (p.lm_head ? head : 0);
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

/// The shard that takes a token's row, where a cache is not split by heads: then all do.
std::size_t taker(const AnalyticParameters& p, std::size_t request, std::size_t token) {
  const ShardPlan plan = plan_of(p, request);
  for (std::size_t shard = 0; shard < p.split.devices; ++shard) {
    if (plan.takes_append(shard, token)) {
      return shard;
    }
  }
  return p.split.devices;
}

/// Bytes of one request's values.
struct Lengths {
  explicit Lengths(const AnalyticParameters& p)
      : q(bytes_of(p.formats.wire, p.shape.q_width(), p.shape.head_dim)),
        kv(2 * bytes_of(p.formats.wire, p.shape.kv_width(), p.shape.head_dim)),
        partial(q + 4 * count(p.shape.heads)),
        residual(bytes_of(p.formats.residual_wire, p.shape.hidden, p.shape.hidden)) {}
  std::int64_t q;
  std::int64_t kv;
  std::int64_t partial;
  std::int64_t residual;
};

/// Between who merges and its cache devices of which `there` are elsewhere, a layer: q there, k and
/// v to who takes the row, the partial results back.
std::int64_t shard_wire(const AnalyticParameters& p, std::size_t there, bool taker_is_there) {
  const Lengths bytes(p);
  const std::int64_t c = count(p.split.devices);
  const std::int64_t n = count(there);
  if (p.split.by == SplitBy::heads) {
    return n * (bytes.q + bytes.kv + bytes.partial) / c;
  }
  return n * (bytes.q + bytes.partial) + (taker_is_there ? bytes.kv : 0);
}

bool ffn_first(BlockOrder block) {
  return block == BlockOrder::swapped || block == BlockOrder::early_q ||
         block == BlockOrder::early_k || block == BlockOrder::early_qk ||
         block == BlockOrder::parallel;
}

/// Between owner and pool, a step: each stream value at most once each way (001 section 4).
std::int64_t pool_wire(const AnalyticParameters& p) {
  const Lengths bytes(p);
  const std::int64_t layers = count(p.shape.layers);
  const bool no_merge = p.current_token == CurrentToken::append_first && p.split.devices == 1;
  const std::int64_t attention = no_merge ? bytes.partial : bytes.q;
  // The feed-forward's result is added to by the owner's `o`, or kept for the pool's: but the last
  // one where it ends the stack.
  const std::int64_t results = layers - (ffn_first(p.block) ? 0 : 1);
  if (p.pooled_projections) {  // in: the input, then the attention and what it is added to
    return bytes.residual + layers * (attention + bytes.residual) + layers * (bytes.q + bytes.kv) +
           results * bytes.residual;
  }
  // In: what each feed-forward reads and, first, what the keys of layer 0 read; or what the LM head
  // reads of the last `o`.
  const std::int64_t inputs = layers + (ffn_first(p.block) ? (p.lm_head ? 1 : 0) : 1);
  return inputs * bytes.residual + layers * bytes.kv + results * bytes.residual;
}

std::int64_t wire_bytes(const Case& c, std::size_t request, std::size_t token) {
  const AnalyticParameters& p = c.parameters;
  const std::int64_t layers = count(p.shape.layers);
  const bool chooses_next = p.lm_head && token + 1 < p.tokens;
  switch (c.arrangement) {
    case Arrangement::colocated:
      return 0;
    case Arrangement::two_device:
      return layers * shard_wire(p, p.split.devices, true);
    case Arrangement::pooled:
      return pool_wire(p) + (chooses_next ? 4 : 0) +
             layers * shard_wire(p, p.split.devices - 1, taker(p, request, token) != 0);
    case Arrangement::tensor_parallel:
      break;
  }
  const std::int64_t ways = count(p.ranks * (p.ranks - 1));
  return ways * (layers * 2 * Lengths(p).residual + (chooses_next ? 8 : 0));
}

Expected expected_bytes(const Case& c) {
  const AnalyticParameters& p = c.parameters;
  const bool merge = p.current_token == CurrentToken::merge;
  const bool by_heads = p.split.by == SplitBy::heads;
  Expected e;
  e.weights = count(p.tokens * p.in_flight) * weight_bytes(p);
  for (std::size_t request = 0; request < p.batch * p.in_flight; ++request) {
    const ShardPlan plan = plan_of(p, request);
    for (std::size_t t = 0; t < p.tokens; ++t) {
      const std::size_t rows = p.context_of(request % p.batch) + t;
      const std::size_t held =
          by_heads ? rows : plan.rows(taker(p, request, t), t);  // where the row goes
      const CacheMoves moves = cache_moves(p, rows + (merge ? 0 : 1), held);
      e.kv_read += count(p.shape.layers) * moves.read;
      e.kv_written += count(p.shape.layers) * moves.written;
      e.wire += wire_bytes(c, request, t);
    }
  }
  return e;
}

}  // namespace

TEST_CASE("200 random cases: simulated equals closed form, wave by wave and step by step") {
  const std::vector<Case> all = simulated_cases();
  REQUIRE(all.size() == cases);
  double worst = 0;
  std::set<std::pair<Arrangement, BlockOrder>> seen;
  for (const Case& c : all) {
    const AnalyticTimes times = times_of(c);
    CAPTURE(text_of(c));
    // The simulator rounds each row to a femtosecond, the closed form does not.
    const double rounding = 1e-15 * static_cast<double>(c.table.rows.size());
    REQUIRE(times.wave_step_ends.size() == c.parameters.in_flight);
    for (std::size_t wave = 0; wave < c.parameters.in_flight; ++wave) {
      REQUIRE(times.wave_step_ends[wave].size() == c.parameters.tokens);
      for (std::size_t t = 0; t < c.parameters.tokens; ++t) {
        const double closed = times.wave_step_ends[wave][t].value();
        const double simulated = to_seconds(wave_step_end(c, wave, t)).value();
        CAPTURE(wave, t);
        CHECK(simulated == Approx(closed).epsilon(1e-9).margin(rounding));
        worst = std::max(worst, closed > 0 ? std::abs(simulated / closed - 1) : 0);
      }
    }
    seen.insert({c.arrangement, c.parameters.block});
  }
  CHECK(seen.size() > 28);  // of 32
  WARN("largest relative deviation " << worst);
}

TEST_CASE("200 random cases: bytes in are bytes out") {
  for (const Case& c : simulated_cases()) {
    const Expected expected = expected_bytes(c);
    CAPTURE(text_of(c));
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

TEST_CASE("200 random cases: the ledger of every wave's step adds up to it, to the femtosecond") {
  std::size_t ledgers_seen = 0;
  for (const Case& c : simulated_cases()) {
    const AnalyticParameters& p = c.parameters;
    const RequestSteps of_requests = request_steps(c.table, p.batch * p.in_flight);
    const std::vector<WaveRequests> waves = waves_of(p.in_flight, p.batch);
    for (std::size_t wave = 0; wave < waves.size(); ++wave) {
      CAPTURE(text_of(c), wave);
      const std::vector<StepTime> steps =
          wave_steps(std::span(of_requests).subspan(wave * p.batch, p.batch));
      REQUIRE(steps.size() == p.tokens);
      const std::vector<StepLedger> ledgers = ledgers_of(c.table, steps, waves[wave]);
      REQUIRE(ledgers.size() == steps.size());
      for (std::size_t t = 0; t < steps.size(); ++t) {
        CHECK(ledgers[t].total() == steps[t].length());
        CHECK(steps[t].end == wave_step_end(c, wave, t));
        CHECK(ledgers[t].sweep_exposed <= ledgers[t].sweep_busy);
        ++ledgers_seen;
      }
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
      const bool on_executor = c.table.resources.at(row.resource).kind == ResourceKind::executor;
      if (on_executor && row.work.launches > 0) {  // a merge belongs to somebody else's launch
        CHECK(row.start >= free[row.resource]);
        free[row.resource] = row.end;
      }
    }
  }
}

}  // namespace qfs
