// What `estimate` counts without simulating is what the simulator's counters say, exactly: every
// block order in every arrangement, over formats, accountings, forms of attention, split caches,
// waves and ranks drawn at random.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/estimate/decode_estimate.hpp"
#include "base/random.hpp"
#include "decode/cache_split.hpp"
#include "sim/report/steps.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/points.hpp"
#include "sim/run/serialize.hpp"
#include "tests/analysis/varied_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr std::size_t orders = enum_names<BlockOrder>.size();
constexpr std::size_t arrangements = enum_names<Arrangement>.size();
constexpr std::size_t cases_of_a_pair = 6;

struct Case {
  AnalyticParameters parameters;
  Arrangement arrangement = Arrangement::colocated;
};

/// Rows of a split by `any`, which the closed form must be told.
void scatter(AnalyticParameters& p) {
  p.scattered_rows.clear();
  for (std::size_t request = 0; request < p.batch * p.in_flight; ++request) {
    const ShardPlan plan(p.split, request, p.context_of(request % p.batch), 0);
    p.scattered_rows.emplace_back();
    for (std::size_t shard = 0; shard < p.split.devices; ++shard) {
      p.scattered_rows.back().push_back(plan.rows(shard, 0));
    }
  }
}

/// `number` goes through all pairs of an order and an arrangement, several times.
Case drawn_case(std::size_t number) {
  Case drawn{test::varied_case(5000 + number),
             enum_names<Arrangement>[number / orders % arrangements].first};
  AnalyticParameters& p = drawn.parameters;
  p.block = enum_names<BlockOrder>[number % orders].first;
  const bool splits =
      drawn.arrangement == Arrangement::two_device || drawn.arrangement == Arrangement::pooled;
  if (!splits) {
    p.split = {};
  }
  if (drawn.arrangement != Arrangement::tensor_parallel) {
    p.ranks = 1;
  }
  p.pooled_projections = p.pooled_projections && p.block != BlockOrder::single_q &&
                         drawn.arrangement == Arrangement::pooled;
  if (number % 5 == 0) {  // requests of different contexts
    const Random random(41, number);
    for (std::size_t member = 0; member < p.batch; ++member) {
      p.contexts.push_back(random.below(member, 300));
    }
  }
  scatter(p);
  return drawn;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (std::size_t number = 0; number < orders * arrangements * cases_of_a_pair; ++number) {
    cases.push_back(drawn_case(number));
  }
  return cases;
}

std::vector<ExecutionTable> simulated(const std::vector<Case>& cases) {
  std::vector<std::function<SimulationResult()>> tasks;
  for (const Case& c : cases) {
    const SystemConfig config = test::system_config(c.parameters, c.arrangement);
    tasks.push_back([config] { return simulate(config); });
  }
  std::vector<ExecutionTable> tables;
  for (SimulationResult& result : run_isolated(tasks, default_jobs())) {
    tables.push_back(std::move(result.table));
  }
  return tables;
}

/// Launches, bytes by kind, MACs and exponentials.
using Counts = std::vector<std::int64_t>;
/// By step, layer and operation; of an instance, all devices, waves and shards together.
using Key = std::tuple<std::size_t, std::size_t, std::string>;

void add(Counts& sum, const Counts& more) {
  sum.resize(more.size());
  std::transform(sum.begin(), sum.end(), more.begin(), sum.begin(), std::plus<>());
}

/// The estimate sets the LM head apart from the last layer, to which the simulator's rows count it.
std::size_t layer_of(const Row& row) {
  return row.layer.value() + (row.op == OpKind::lm_head ? 1 : 0);
}

std::map<Key, Counts> counted(const ExecutionTable& table) {
  std::map<Key, Counts> counts;
  for (const Row& row : table.rows) {
    if (!row.is_operation()) {
      continue;
    }
    const Work& w = row.work;
    const Counts work{w.launches,
                      w.weight_bytes.value(),
                      w.kv_read_bytes.value(),
                      w.kv_written_bytes.value(),
                      w.activation_bytes.value(),
                      w.macs.value(),
                      w.exps.value()};
    if (row.op == OpKind::embed || row.op == OpKind::merge || row.op == OpKind::hold) {
      CHECK(work == Counts(work.size()));  // nothing that an estimate could leave out
      continue;
    }
    add(counts[{row.step.value(), layer_of(row), std::string(name_of(row.op))}], work);
  }
  return counts;
}

std::map<Key, Counts> counted(const DecodeEstimate& estimate, bool lm_head) {
  std::map<Key, Counts> counts;
  for (const StepEstimate& step : estimate.steps) {
    for (const LayerEstimate& layer : step.layers) {
      for (const OperationEstimate& operation : layer.operations) {
        const DecodeWork& w = operation.work;
        CHECK(std::tuple(operation.step, operation.wave, operation.layer) ==
              std::tuple(step.step, step.wave, layer.layer));
        add(counts[{step.step, layer.layer, operation.name}],
            {w.launches, w.weight_bytes.value(), w.kv_read_bytes.value(),
             w.kv_written_bytes.value(), w.activation_bytes.value(), w.macs.value(),
             w.exps.value()});
      }
    }
    CHECK((step.layers.back().operations.back().name == "lm_head") == lm_head);
  }
  return counts;
}

/// Wire bytes and messages by step.
std::map<std::size_t, Counts> sent(const ExecutionTable& table) {
  std::map<std::size_t, Counts> counts;
  for (const Row& row : table.rows) {
    if (row.is_message()) {
      add(counts[row.step.value()], {row.wire_bytes.value(), 1});
    }
  }
  return counts;
}

std::map<std::size_t, Counts> sent(const DecodeEstimate& estimate) {
  std::map<std::size_t, Counts> counts;
  for (const StepEstimate& step : estimate.steps) {
    if (step.messages > 0) {
      add(counts[step.step], {step.wire_bytes.value(), step.messages});
    }
  }
  return counts;
}

/// What a layer and a step say is the sum of what they hold.
void check_sums(const DecodeEstimate& estimate) {
  for (const StepEstimate& step : estimate.steps) {
    DecodeWork of_step;
    Bytes wire;
    double time = 0;
    for (const LayerEstimate& layer : step.layers) {
      DecodeWork of_layer;
      for (const OperationEstimate& operation : layer.operations) {
        of_layer += operation.work;
      }
      CHECK(layer.work == of_layer);
      of_step += of_layer;
      wire += layer.wire_bytes;
      time += layer.closed_form.value();
    }
    CHECK(step.work == of_step);
    CHECK(step.wire_bytes == wire);
    CHECK(time == Approx(step.closed_form.value()));
  }
}

TEST_CASE(
    "estimated work and traffic are the simulator's counters in every order and arrangement") {
  const std::vector<Case> cases = all_cases();
  const std::vector<ExecutionTable> tables = simulated(cases);
  std::size_t operations = 0;
  for (std::size_t number = 0; number < cases.size(); ++number) {
    const Case& c = cases[number];
    CAPTURE(number, name_of(c.parameters.block), name_of(c.arrangement),
            name_of(c.parameters.accounting), name_of(c.parameters.attention.form));
    const DecodeEstimate estimate =
        decode_estimate(analytic_arrangement(c.arrangement), c.parameters);
    const std::map<Key, Counts> want = counted(tables[number]);
    CHECK(counted(estimate, c.parameters.lm_head) == want);
    CHECK(sent(estimate) == sent(tables[number]));
    check_sums(estimate);
    operations += want.size();
  }
  CHECK(operations > 5000);
}

TEST_CASE("estimated times of layers are the simulator's where memory is ideal") {
  const std::vector<Case> cases = all_cases();
  const std::vector<ExecutionTable> tables = simulated(cases);
  for (std::size_t number = 0; number < cases.size(); ++number) {
    const Case& c = cases[number];
    CAPTURE(number, name_of(c.parameters.block), name_of(c.arrangement));
    if (c.parameters.in_flight > 1) {
      continue;
    }
    const DecodeEstimate estimate =
        decode_estimate(analytic_arrangement(c.arrangement), c.parameters);
    std::map<std::pair<std::size_t, std::size_t>, double> ends;  // of step and layer, microseconds
    for (const Row& row : tables[number].rows) {
      if (row.is_operation() && row.op != OpKind::append) {
        double& end = ends[{row.step.value(), layer_of(row)}];
        end = std::max(end, to_microseconds(row.end));
      }
    }
    double before = 0;
    for (const StepEstimate& step : estimate.steps) {
      for (const LayerEstimate& layer : step.layers) {
        before += to_microseconds(layer.closed_form);
        CHECK(before == Approx(ends.at({step.step, layer.layer})).epsilon(1e-6));
      }
      if (step.roofline) {
        CHECK(step.roofline->time.value() <= step.closed_form.value() * (1 + 1e-9));
      }
    }
  }
}

/// Accesses are bytes with every value one byte long: fp32 values are four.
TEST_CASE("estimated accesses are values, whatever the formats") {
  AnalyticParameters p;
  p.shape = test::tiny_shape();  // hidden 32, 4 heads on 2 of 8, ffn 48, vocabulary 64
  p.block = BlockOrder::standard;
  p.batch = 3;
  p.context = 10;
  p.lm_head = true;
  for (const auto& [format, name] : enum_names<Format>) {
    p.formats = {format, format, format, format};
    const DecodeEstimate estimate = decode_estimate(AnalyticArrangement::two_device, p);
    std::map<std::string, std::int64_t> accesses;
    for (const OperationEstimate& operation : estimate.steps.front().layers.front().operations) {
      accesses[operation.name] += operation.work.accesses;
    }
    CAPTURE(name);
    const std::int64_t residual = 3 * 32;
    const std::int64_t heads = 3 * 4 * 8;
    const std::int64_t kv_heads = 3 * 2 * 8;
    CHECK(accesses["q"] == 32 * 32 + residual + heads);
    CHECK(accesses["kv"] == 2 * 32 * 16 + residual + 2 * kv_heads);
    CHECK(accesses["append"] == 2 * kv_heads);
    CHECK(accesses["sweep"] == 10 * 2 * kv_heads + heads + heads + 3 * 4);  // and one lse a head
    CHECK(accesses["o"] == 32 * 32 + heads + residual + residual);
    CHECK(accesses["ffn"] == 3 * 32 * 48 + residual + residual);
    CHECK(estimate.steps.front().layers.back().work.accesses == 64 * 32 + residual + 3);
  }
}

}  // namespace
}  // namespace qfs
