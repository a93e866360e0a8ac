// Whatever stalls, gets lost, comes late or dies: only time moves. Every run here is compared bit
// for bit (SimulationResult::digest) with the same system undisturbed.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "sim/run/isolate.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/numeric_run.hpp"

namespace qfs {
namespace {

using test::NumericCase;

struct Disturbed {
  NumericCase system;
  Disturbances disturbances;
  bool numerics = true;
};

SimulationResult run(const Disturbed& disturbed) {
  SystemConfig config = test::system_config(disturbed.system);
  config.disturbances = disturbed.disturbances;
  if (!disturbed.numerics) {
    return simulate(config);
  }
  const Inputs inputs = test::inputs_of(disturbed.system);
  const NumericRequest request{inputs, false};
  return simulate(config, &request);
}

std::vector<SimulationResult> run_all(const std::vector<Disturbed>& runs) {
  std::vector<std::function<SimulationResult()>> tasks;
  for (const Disturbed& disturbed : runs) {
    tasks.emplace_back([&disturbed] { return run(disturbed); });
  }
  return run_isolated(tasks, default_jobs());
}

/// What of a row can be seen in a report.
auto seen(const Row& row) {
  return std::tuple(row.kind, row.op, row.carries, row.layer, row.shard, row.step, row.members,
                    row.attempt, row.resource, row.ready, row.start, row.end, row.wire_bytes);
}

/// In whatever order they stand that began at the same instant.
bool same_rows(const ExecutionTable& a, const ExecutionTable& b) {
  const auto sorted = [](const ExecutionTable& table) {
    std::vector<decltype(seen(table.rows.front()))> rows;
    std::transform(table.rows.begin(), table.rows.end(), std::back_inserter(rows), seen);
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  return sorted(a) == sorted(b);
}

bool same_times(const ExecutionTable& a, const ExecutionTable& b) {
  return std::equal(
      a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
      [](const Row& x, const Row& y) { return x.start == y.start && x.end == y.end; });
}

std::string place(const ExecutionTable& table, const Row& row) {
  return table.resources[row.resource].name;
}

std::size_t count(const ExecutionTable& table, const std::function<bool(const Row&)>& qualifies) {
  return static_cast<std::size_t>(std::count_if(table.rows.begin(), table.rows.end(), qualifies));
}

NumericCase pooled(BlockOrder block, std::size_t instances,
                   Projections projections = Projections::cache_side) {
  NumericCase c;
  c.arrangement = Arrangement::pooled;
  c.block = block;
  c.pool.instances = instances;
  c.pool.projections = projections;
  c.wave = 4;  // all requests: batch 4
  return c;
}

NumericCase split(std::size_t devices, SplitBy by, MergeOrder merge = MergeOrder::fixed) {
  NumericCase c;
  c.split = {devices, by, merge};
  return c;
}

NumericCase parallel(std::size_t ranks) {
  NumericCase c;
  c.arrangement = Arrangement::tensor_parallel;
  c.ranks = ranks;
  return c;
}

/// Every arrangement; batches of 2 in two waves, or of 4.
std::vector<NumericCase> systems(BlockOrder block) {
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
BlockOrder block_number(std::size_t index) {
  return enum_names<BlockOrder>[index % block_orders].first;
}

/// Run number `index` of a series over all arrangements and block orders.
NumericCase system_number(std::size_t index) {
  const std::vector<NumericCase> all = systems(block_number(index));
  return all[index / block_orders % all.size()];
}

Stalls stalls(std::uint64_t seed, double probability = 0.3, double longest = 20e-6) {
  return {probability, Seconds(longest), seed};
}

MessageFaults bad_link(std::uint64_t seed) {
  return {0.2, 0.2, Seconds(7e-6), Seconds(9e-6), seed};
}

/// Runs each system disturbed and undisturbed. Gives the disturbed tables, all of whose values are
/// those of the undisturbed runs and whose times are not.
std::vector<ExecutionTable> check_only_time_moves(const std::vector<Disturbed>& disturbed) {
  std::vector<Disturbed> runs = disturbed;
  for (const Disturbed& one : disturbed) {
    runs.push_back({one.system, {}});
  }
  std::vector<SimulationResult> results = run_all(runs);
  std::vector<ExecutionTable> tables;
  for (std::size_t i = 0; i < disturbed.size(); ++i) {
    const SimulationResult& plain = results[disturbed.size() + i];
    INFO(i << ": " << test::text_of(disturbed[i].system));
    CHECK(plain.digest != 0);
    CHECK(results[i].digest == plain.digest);
    CHECK(!same_times(results[i].table, plain.table));
    tables.push_back(std::move(results[i].table));
  }
  return tables;
}

/// The longest launch of the pool in an undisturbed run, on its first instance.
Row longest_on_pool(const ExecutionTable& table) {
  Row longest;
  for (const Row& row : table.rows) {
    const bool there = row.is_operation() && place(table, row) == "pool_0";
    if (there && row.end - row.start > longest.end - longest.start) {
      longest = row;
    }
  }
  return longest;
}

Seconds middle(const Row& row) {
  return to_seconds(Femtoseconds((row.start.value() + row.end.value()) / 2));
}

/// An instance's fault in the middle of a launch of each system, as `fault` makes it from there.
std::vector<Disturbed> strike_mid_call(const std::vector<NumericCase>& systems,
                                       const std::function<Disturbances(Seconds)>& fault) {
  std::vector<Disturbed> plain;
  for (const NumericCase& c : systems) {
    plain.push_back({c, {}, false});
  }
  const std::vector<SimulationResult> results = run_all(plain);
  std::vector<Disturbed> struck;
  for (std::size_t i = 0; i < systems.size(); ++i) {
    struck.push_back({systems[i], fault(middle(longest_on_pool(results[i].table)))});
  }
  return struck;
}

/// Pools of two and three instances in every block order, both ways of projecting.
std::vector<NumericCase> pools() {
  std::vector<NumericCase> all;
  for (const auto& [block, name] : enum_names<BlockOrder>) {
    all.push_back(pooled(block, 2));
    if (block != BlockOrder::single_q) {
      all.push_back(pooled(block, 3, Projections::pool));
    }
  }
  return all;
}

Disturbances with_timeout(double seconds, const std::vector<InstanceFault>& instances = {}) {
  Disturbances disturbances;
  disturbances.instances = instances;
  disturbances.call_timeout = Seconds(seconds);
  return disturbances;
}

}  // namespace

TEST_CASE("200 runs with random stalls of devices, writes and links: only time moves") {
  std::vector<Disturbed> runs;
  for (std::size_t seed = 0; seed < 200; ++seed) {
    Disturbed next{system_number(seed), {}};
    next.disturbances.stalls = stalls(seed);
    runs.push_back(next);
  }
  check_only_time_moves(runs);
}

TEST_CASE("the same seed stalls the same way, another does not") {
  Disturbed one{{}, {}};
  one.disturbances.stalls = stalls(7);
  Disturbed other = one;
  other.disturbances.stalls = stalls(8);
  const std::vector<SimulationResult> results = run_all({one, one, other});
  CHECK(same_rows(results[0].table, results[1].table));
  CHECK(!same_times(results[0].table, results[2].table));
}

TEST_CASE("lost and late messages: repeated, put in order, and nothing else changes") {
  std::vector<Disturbed> runs;
  for (std::size_t seed = 0; seed < 104; ++seed) {
    Disturbed next{system_number(seed), {}};
    if (next.system.arrangement != Arrangement::colocated) {
      next.disturbances.messages = bad_link(seed);
      runs.push_back(next);
    }
  }
  std::size_t lost = 0;
  std::size_t dropped = 0;
  for (const ExecutionTable& table : check_only_time_moves(runs)) {
    // By what it is: the attempts of one message, which follow each other, all of one length.
    using Sending = std::tuple<std::size_t, OpKind, LayerId, std::size_t, StepId,
                               std::vector<Member>, std::vector<ValueKind>>;
    std::map<Sending, std::vector<Row>> messages;
    for (const Row& row : table.rows) {
      if (row.is_message()) {
        messages[{row.resource, row.op, row.layer, row.shard, row.step, row.members, row.carries}]
            .push_back(row);
      }
    }
    for (const auto& [what, attempts] : messages) {
      std::map<int, std::size_t> used_of_attempt;
      for (const Row& row : attempts) {
        CHECK(row.wire_bytes == attempts.front().wire_bytes);
        lost += row.fate == RowFate::lost ? 1 : 0;
        dropped += row.fate == RowFate::dropped ? 1 : 0;
      }
      // To several devices the same can go: as many first attempts as messages that arrived.
      const auto first = std::count_if(attempts.begin(), attempts.end(),
                                       [](const Row& row) { return row.attempt == 1; });
      const auto used = std::count_if(attempts.begin(), attempts.end(),
                                      [](const Row& row) { return row.fate == RowFate::used; });
      CHECK(first == used);
    }
  }
  CHECK(lost > 1000);
  CHECK(dropped > 1000);
}

TEST_CASE("messages that are only late are not repeated without a time-out") {
  Disturbed late{split(3, SplitBy::positions), {}};
  late.disturbances.messages = {0, 0.5, Seconds(11e-6), std::nullopt, 3};
  const std::vector<ExecutionTable> tables = check_only_time_moves({late});
  CHECK(count(tables[0], [](const Row& row) { return row.attempt > 1; }) == 0);
}

TEST_CASE("a straggler among cache devices takes so many times as long, and nothing else changes") {
  constexpr double factor = 4;
  Disturbed slow{split(3, SplitBy::positions), {}};
  slow.disturbances.slow = {{"cache_device_1", factor}};
  Disturbed timed = slow;
  timed.numerics = false;
  check_only_time_moves({slow});
  const std::vector<SimulationResult> results = run_all({timed, {slow.system, {}, false}});
  // By device: how long the sweeps of the first step take, beside which nothing is written yet.
  const auto sweeps = [](const ExecutionTable& table, const std::string& device) {
    std::vector<double> lengths;
    for (const Row& row : table.rows) {
      if (row.op == OpKind::sweep && row.is_operation() && place(table, row) == device &&
          row.layer == LayerId(0) && row.step == StepId(0)) {
        lengths.push_back(static_cast<double>((row.end - row.start).value()));
      }
    }
    return lengths;
  };
  for (const std::string device : {"cache_device_0", "cache_device_1", "cache_device_2"}) {
    const std::vector<double> disturbed = sweeps(results[0].table, device);
    const std::vector<double> plain = sweeps(results[1].table, device);
    REQUIRE(disturbed.size() == 2);  // waves
    REQUIRE(plain.size() == 2);
    const double expected = device == "cache_device_1" ? factor : 1;
    CHECK(disturbed[0] == Approx(expected * plain[0]).margin(factor));  // femtoseconds
    CHECK(disturbed[1] == Approx(expected * plain[1]).margin(factor));
  }
}

TEST_CASE("an instance that dies mid-call: others do its calls, in every block order") {
  constexpr double timeout = 60e-6;
  const std::vector<Disturbed> runs = strike_mid_call(pools(), [](Seconds at) {
    return with_timeout(timeout, {{0, at, std::nullopt}});
  });
  const std::vector<ExecutionTable> tables = check_only_time_moves(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const ExecutionTable& table = tables[i];
    const Femtoseconds death = to_femtoseconds(runs[i].disturbances.instances[0].at);
    const auto on_dead = [&](const Row& row) {
      return row.is_operation() && place(table, row) == "pool_0";
    };
    INFO(test::text_of(runs[i].system));
    CHECK(count(table, [&](const Row& row) { return on_dead(row) && row.end > death; }) == 0);
    CHECK(count(table, [&](const Row& row) {
            return on_dead(row) && row.fate == RowFate::lost && row.end == death;
          }) == 1);
    CHECK(count(table, [&](const Row& row) {
            return row.is_operation() && row.attempt == 2 && place(table, row) != "pool_0";
          }) > 0);
  }
}

TEST_CASE("an instance that stands still mid-call: what it does late is dropped") {
  constexpr double timeout = 60e-6;
  constexpr double stall = 150e-6;
  const std::vector<Disturbed> runs = strike_mid_call(pools(), [](Seconds at) {
    return with_timeout(timeout, {{0, at, Seconds(stall)}});
  });
  const std::vector<ExecutionTable> tables = check_only_time_moves(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const ExecutionTable& table = tables[i];
    const Femtoseconds from = to_femtoseconds(runs[i].disturbances.instances[0].at);
    const Femtoseconds to = from + to_femtoseconds(Seconds(stall));
    const auto on_late = [&](const Row& row) {
      return row.is_operation() && place(table, row) == "pool_0";
    };
    INFO(test::text_of(runs[i].system));
    CHECK(count(table, [&](const Row& row) {
            return on_late(row) && row.start >= from && row.start < to;
          }) == 0);
    CHECK(count(table, [](const Row& row) { return row.fate == RowFate::dropped; }) > 0);
    CHECK(count(table, [](const Row& row) { return row.attempt == 2; }) > 0);
    // It answers, late, and is trusted again.
    CHECK(count(table, [&](const Row& row) {
            return on_late(row) && row.start >= to && row.attempt == 1 && row.fate == RowFate::used;
          }) > 0);
  }
}

TEST_CASE("a stall within the time-out makes a launch end later by its length, and no more") {
  constexpr double stall = 5e-6;
  const std::vector<NumericCase> systems{pooled(BlockOrder::early_q, 1)};
  std::vector<Disturbed> runs = strike_mid_call({pooled(BlockOrder::early_q, 2)}, [](Seconds at) {
    return with_timeout(1, {{0, at, Seconds(stall)}});
  });
  const ExecutionTable table = check_only_time_moves(runs)[0];
  CHECK(count(table, [](const Row& row) { return row.attempt > 1; }) == 0);
  const SimulationResult plain = run_all({{runs[0].system, {}, false}})[0];
  const Row longest = longest_on_pool(plain.table);
  const auto late = std::find_if(table.rows.begin(), table.rows.end(), [&](const Row& row) {
    return row.start == longest.start && row.resource == longest.resource;
  });
  REQUIRE(late != table.rows.end());
  CHECK(late->end == longest.end + to_femtoseconds(Seconds(stall)));
}

TEST_CASE("a time-out that is too short only costs time") {
  std::vector<Disturbed> runs;
  for (const NumericCase& c : pools()) {
    runs.push_back({c, with_timeout(1e-6)});
  }
  const std::vector<ExecutionTable> tables = check_only_time_moves(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    INFO(test::text_of(runs[i].system));
    int most = 0;
    for (const Row& row : tables[i].rows) {
      most = std::max(most, row.attempt);
    }
    CHECK(most == static_cast<int>(runs[i].system.pool.instances));
  }
}

TEST_CASE("a time-out for messages that is too short only costs time") {
  Disturbed hasty{split(2, SplitBy::positions), {}};
  hasty.disturbances.messages = {0.1, 0, Seconds(0), Seconds(1e-9), 3};
  const std::vector<ExecutionTable> tables = check_only_time_moves({hasty});
  CHECK(count(tables[0], [](const Row& row) { return row.fate == RowFate::dropped; }) > 100);
}

TEST_CASE(
    "calls that are watched and messages that are acknowledged change nothing by themselves") {
  std::vector<Disturbed> runs;
  for (std::size_t index = 0; index < 104; index += 3) {
    NumericCase system = system_number(index);
    system.ports = Ports::own;  // on a shared one the order of what ends at one instant is open
    Disturbed watched{system, {}, false};
    watched.disturbances.messages.timeout = Seconds(1);
    if (system.arrangement == Arrangement::pooled) {
      watched.disturbances.call_timeout = Seconds(1);
    }
    runs.push_back(watched);
    runs.push_back({system, {}, false});
  }
  const std::vector<SimulationResult> results = run_all(runs);
  for (std::size_t i = 0; i < runs.size(); i += 2) {
    INFO(test::text_of(runs[i].system));
    CHECK(same_rows(results[i].table, results[i + 1].table));
  }
}

TEST_CASE("everything at once, with numbers and without") {
  std::vector<Disturbed> runs;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Random random(seed, 0);
    const std::size_t instances = 1 + random.below(0, 3);
    Disturbed next{pooled(block_number(seed), instances), with_timeout(40e-6)};
    next.system.wave = 1 + random.below(1, 4);
    next.disturbances.stalls = stalls(seed, 0.1);
    next.disturbances.messages = bad_link(seed);
    next.disturbances.slow = {{"cache_device", 1 + random.uniform(2)}};
    for (std::size_t i = 0; i < 2 * instances; ++i) {
      const Seconds at(random.uniform(10 + 2 * i, 0, 600e-6));
      const bool dies = i > 0 && i < instances;  // all but one
      next.disturbances.instances.push_back(
          {dies ? i : random.below(30 + i, instances), at,
           dies ? std::nullopt : std::optional(Seconds(random.uniform(11 + 2 * i, 0, 90e-6)))});
    }
    runs.push_back(next);
  }
  const std::vector<ExecutionTable> tables = check_only_time_moves(runs);
  for (Disturbed& one : runs) {
    one.numerics = false;
  }
  const std::vector<SimulationResult> timed = run_all(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CHECK(same_rows(tables[i], timed[i].table));
    CHECK(timed[i].digest == 0);
  }
}

TEST_CASE("merges in order of arrival differ in their last bits at most") {
  Disturbed arrival{split(8, SplitBy::any, MergeOrder::arrival), {}};
  std::vector<std::function<SimulationResult()>> tasks;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    arrival.disturbances.stalls = stalls(seed);
    tasks.emplace_back([arrival] {
      SystemConfig config = test::system_config(arrival.system);
      config.disturbances = arrival.disturbances;
      const Inputs inputs = test::inputs_of(arrival.system);
      const NumericRequest request{inputs};
      return simulate(config, &request);
    });
  }
  for (const SimulationResult& result : run_isolated(tasks, default_jobs())) {
    REQUIRE(result.numerics.has_value());
    CHECK(result.numerics->passed());
  }
}

TEST_CASE("when all instances are dead the run fails and says why") {
  for (const bool lossy : {false, true}) {
    std::vector<Disturbed> runs =
        strike_mid_call({pooled(BlockOrder::early_q, 2)}, [&](Seconds at) {
          Disturbances both = with_timeout(60e-6, {{0, at, std::nullopt}, {1, at, std::nullopt}});
          both.messages = lossy ? bad_link(1) : MessageFaults{};
          return both;
        });
    try {
      run_all(runs);
      FAIL("it ended");
    } catch (const RunError& error) {
      const std::string text = error.what();
      INFO(text);
      CHECK(text.find("every instance of the pool has died") != std::string::npos);
    }
  }
}

TEST_CASE("disturbances that a system cannot have, or could not bear, are refused") {
  const auto refused = [](const NumericCase& c, const Disturbances& disturbances) {
    try {
      run_all({{c, disturbances, false}});
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  Disturbances slow;
  slow.slow = {{"cache_device_3", 2}};
  CHECK(refused(split(3, SplitBy::positions), slow) ==
        "faults.slow: no device cache_device_3; there are compute_device, cache_device_0, "
        "cache_device_1, cache_device_2");
  slow.slow = {{"cache_device", 0.5}};
  CHECK(refused({}, slow) == "faults.slow: the factor of cache_device must be 1 or more");
  Disturbances lossy;
  lossy.messages.lost = 0.1;
  CHECK(refused({}, lossy) == "faults.messages.timeout: without it nobody repeats a lost message");
  Disturbances death;
  death.instances = {{0, Seconds(0), std::nullopt}};
  CHECK(refused({}, death) ==
        "faults.instances: only a stateless pool has instances that can stand still or die");
  CHECK(refused(pooled(BlockOrder::early_q, 2), death) ==
        "faults.call_timeout: without it nobody notices that an instance has died");
  CHECK(refused({}, with_timeout(1)) ==
        "faults.call_timeout: only calls of a pool have a time-out");
  CHECK(refused(pooled(BlockOrder::early_q, 2), with_timeout(0)) ==
        "faults.call_timeout: must be positive");
  CHECK(refused(pooled(BlockOrder::early_q, 2), with_timeout(1, {{2, Seconds(0), Seconds(1)}})) ==
        "faults.instances: no instance 2 in a pool of 2");
}

}  // namespace qfs
