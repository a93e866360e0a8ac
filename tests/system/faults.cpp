// Stalls, slow devices, lost and late messages: only time moves. Every run here is compared bit for
// bit (SimulationResult::digest) with the same system undisturbed.
#include "tests/system/disturbed_runs.hpp"

namespace qfs::test {

TEST_CASE("200 runs with random stalls of devices, writes and links: only time moves") {
  std::vector<Disturbed> runs;
  for (std::size_t seed = 0; seed < 200; ++seed) {
    Disturbed next{system_number(seed), {}};
    const bool long_ones = seed % 4 == 0;  // longer than a step
    next.disturbances.stalls = long_ones ? stalls(seed, 0.08, 1e-3) : stalls(seed);
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

// In a stack of one layer the rows of a token, lost, come together with those of the next, which
// have been made meanwhile: each append must write its own.
TEST_CASE("rows that are lost for longer than a step land as they should") {
  std::vector<Disturbed> runs;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Disturbed next{split(1 + seed % 3, SplitBy::positions), {}};
    next.system.block = block_number(seed);
    next.layers = 1;
    next.disturbances.messages = {0.1, 0, Seconds(0), Seconds(2e-3), seed};
    runs.push_back(next);
  }
  std::size_t together = 0;
  for (const ExecutionTable& table : check_only_time_moves(runs)) {
    together += count(table, [&](const Row& row) {
      return row.op == OpKind::append && row.is_operation() &&
             std::any_of(table.rows.begin(), table.rows.end(), [&](const Row& other) {
               return other.op == OpKind::append && other.is_operation() &&
                      other.shard == row.shard && other.step > row.step &&
                      other.members[0].request == row.members[0].request && other.ready <= row.end;
             });
    });
  }
  CHECK(together > 0);
}

TEST_CASE("calibrated sweeps in two phases: stalls and lost messages move no value either") {
  std::vector<Disturbed> runs;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    NumericCase system = seed % 4 < 2 ? split(3, SplitBy::positions) : pooled({}, 2);
    system.split.devices = 3;
    system.block = block_number(seed / 4);
    Disturbed next{system, {}};
    next.disturbances.stalls = stalls(seed);
    next.disturbances.messages = bad_link(seed);
    next.softmax = {{.kind = SoftmaxKind::min_max},
                    seed % 2 == 0 ? Calibration::history : Calibration::row};
    runs.push_back(next);
  }
  check_only_time_moves(runs);
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
    if (system.arrangement != Arrangement::colocated) {
      watched.disturbances.messages.timeout = Seconds(1);
    }
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

}  // namespace qfs::test
