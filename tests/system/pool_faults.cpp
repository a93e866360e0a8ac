// Instances of a pool that die or stand still, calls that are made anew, and everything at once.
#include "tests/system/disturbed_runs.hpp"

namespace qfs::test {
namespace {

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
    const auto dropped = [&](bool message) {
      return count(table, [&](const Row& row) {
        return row.fate == RowFate::dropped && row.is_message() == message;
      });
    };
    CHECK(dropped(false) > 0);
    CHECK(dropped(true) > 0);
    CHECK(count(table, [](const Row& row) { return row.attempt == 2; }) > 0);
    // It answers, late, and is trusted again.
    CHECK(count(table, [&](const Row& row) {
            return on_late(row) && row.start >= to && row.attempt == 1 && row.fate == RowFate::used;
          }) > 0);
  }
}

TEST_CASE("what two instances have done is logged once: a failure is reported once") {
  const std::vector<SimulationResult> plain =
      run_all({{pooled(BlockOrder::early_q, 2), {}, false}});
  const Row struck = longest_on_pool(plain[0].table);
  const NumericCase c = pooled(BlockOrder::early_q, 2);
  SystemConfig config = system_config(c);
  config.disturbances = with_timeout(60e-6, {{0, middle(struck), Seconds(150e-6)}});
  config.rules.shape.layers = Disturbed{}.layers;
  config.fault.kind = FaultKind::wrong_weights;
  config.fault.operation = struck.op;
  config.fault.layer = struck.layer;
  config.fault.step = struck.step;
  const Inputs inputs({config.rules.shape, c.formats, 5, c.contexts, c.tokens, c.lm_head});
  const std::function<SimulationResult()> checked = [&] {
    const NumericRequest request{inputs};
    return simulate(config, &request);
  };
  const SimulationResult result = run_isolated<SimulationResult>({checked}, 1)[0];
  const auto of_struck = [&struck](const Row& row) {
    return row.is_operation() && row.op == struck.op && row.layer == struck.layer &&
           row.step == struck.step;
  };
  CHECK(count(result.table, of_struck) > count(plain[0].table, of_struck));
  std::vector<RequestId> failed;
  for (const OperationError& error : result.numerics->failures) {
    if (error.kind == struck.op) {
      failed.push_back(error.request);
    }
  }
  std::sort(failed.begin(), failed.end());
  CHECK(!failed.empty());
  CHECK(std::adjacent_find(failed.begin(), failed.end()) == failed.end());
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
        "faults.slow: no device 'cache_device_3'; legal: compute_device, cache_device_0, "
        "cache_device_1, cache_device_2");
  slow.slow = {{"cache_device", 0.5}};
  CHECK(refused({}, slow) == "faults.slow: factor 0.5; legal: from 1");
  Disturbances lossy;
  lossy.messages.lost = 0.1;
  CHECK(refused({}, lossy) ==
        "faults.messages.timeout: never; legal: a time, since with messages.lost 0.1 nobody would "
        "repeat a lost message");
  Disturbances death;
  death.instances = {{0, Seconds(0), std::nullopt}};
  CHECK(refused({}, death) ==
        "faults.instances: given, but only a stateless pool has instances; legal: [] with other "
        "arrangements than pooled");
  CHECK(refused(pooled(BlockOrder::early_q, 2), death) ==
        "faults.call_timeout: never; legal: a time, since nobody would notice that an instance has "
        "died");
  CHECK(refused({}, with_timeout(1)) ==
        "faults.call_timeout: given, but only a pool is called; legal: never with other "
        "arrangements than pooled");
  CHECK(refused(pooled(BlockOrder::early_q, 2), with_timeout(0)) ==
        "faults.call_timeout: not positive; legal: above 0 s");
  CHECK(refused(pooled(BlockOrder::early_q, 2), with_timeout(1, {{2, Seconds(0), Seconds(1)}})) ==
        "faults.instances: instance 2; legal: below pool.instances (2)");
}

}  // namespace qfs::test
