// The command-level model under traffic that no table has: every command against every rule, the
// counters against each other, and the same result however time is cut.
#include <numeric>

#include "tests/dram/dram_support.hpp"
#include "tests/dram/random_traffic.hpp"
#include "tests/dram/trace_check.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using dram::BurstMemory;
using dram::Counters;
using dram::DramConfig;
using dram::IssuedCommand;
using dram::Transaction;

/// Ways in which a controller or its memory may be varied.
const std::vector<std::vector<std::string>> variants{
    {},
    {"organisation.ranks=2", "timing.rank_switch=2"},
    {"controller.page_policy=closed"},
    {"controller.refresh=off", "controller.read_queue=1", "controller.write_queue=1",
     "controller.write_drain_from=1", "controller.write_drain_to=0"},
    {"controller.mapping=[bank, channel, row, column, stack, rank, bankgroup, pseudochannel]"},
};

struct Traced {
  std::vector<IssuedCommand> trace;
  Counters counters;
  std::vector<std::optional<Femtoseconds>> ends;
};

Traced traced(const DramConfig& config, const std::vector<Transaction>& traffic) {
  Traced result;
  BurstMemory memory(config);
  memory.trace_to(&result.trace);
  for (const Transaction& one : traffic) {
    memory.start(one);
  }
  memory.run();
  result.counters = memory.counters();
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    result.ends.push_back(memory.end(i));
  }
  return result;
}

std::uint64_t count(const std::vector<IssuedCommand>& trace, dram::Command command) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      trace, [&](const IssuedCommand& one) { return one.command == command; }));
}

void check_counters(const DramConfig& config, const std::vector<Transaction>& traffic,
                    const Traced& run) {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  for (const Transaction& one : traffic) {
    const std::uint64_t bursts = dram::bursts_of(one, config.organisation.burst_bytes());
    (one.direction == dram::Direction::read ? reads : writes) += bursts;
  }
  const Counters& counters = run.counters;
  CHECK(counters.read_bursts == reads);
  CHECK(counters.write_bursts == writes);
  CHECK(counters.activates <= counters.bursts());
  using enum dram::Command;
  CHECK(counters.read_bursts == count(run.trace, read));
  CHECK(counters.write_bursts == count(run.trace, write));
  CHECK(counters.activates == count(run.trace, activate));
  CHECK(counters.precharges == count(run.trace, precharge));
  CHECK(counters.precharges_all == count(run.trace, precharge_all));
  CHECK(counters.refreshes_all == count(run.trace, refresh_all));
  CHECK(counters.refreshes_bank == count(run.trace, refresh_bank));
}

void check_ends(const DramConfig& config, const std::vector<Transaction>& traffic,
                const Traced& run) {
  const double peak = peak_bandwidth(config).value();
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    REQUIRE(run.ends[i].has_value());
    const Seconds took = to_seconds(*run.ends[i] - traffic[i].arrival);
    CHECK(took.value() * (1 + 1e-9) + 1e-15 >=
          static_cast<double>(traffic[i].length.value()) / peak);
  }
}

TEST_CASE("every command of random traffic keeps every rule") {
  for (const char* preset : test::all_presets) {
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      const DramConfig config = load_dram_named(preset, variants[variant]);
      const std::vector<Transaction> traffic = test::random_traffic(config, variant, 300);
      const Traced run = traced(config, traffic);
      INFO(preset << ", variant " << variant);
      const std::vector<std::string> mistakes = test::mistakes_of(config, run.trace);
      INFO(mistakes.size() << " mistakes, " << (mistakes.empty() ? "" : mistakes.front()));
      CHECK(mistakes.empty());
      check_counters(config, traffic, run);
      check_ends(config, traffic, run);
    }
  }
}

TEST_CASE("every command keeps every rule while banks are refreshed one by one") {
  for (const char* preset : {"hbm2", "hbm3-6400", "lpddr5-6400", "gddr6-14000"}) {
    const DramConfig config =
        load_dram_named(preset, {"controller.refresh=per_bank", "controller.page_policy=closed"});
    const std::vector<Transaction> traffic = test::random_traffic(config, 7, 600);
    const Traced run = traced(config, traffic);
    const std::vector<std::string> mistakes = test::mistakes_of(config, run.trace);
    INFO(preset << ": " << mistakes.size() << " mistakes, "
                << (mistakes.empty() ? "" : mistakes.front()));
    CHECK(mistakes.empty());
    CHECK(run.counters.refreshes_bank > 0);
    check_counters(config, traffic, run);
  }
}

TEST_CASE("the checker of traces sees what is wrong") {
  const DramConfig config = load_dram_named("lpddr5-6400", {"controller.refresh=off"});
  std::vector<Transaction> traffic = test::random_traffic(config, 3, 20);
  for (Transaction& one : traffic) {
    one.arrival = {};  // so that there is no pause into which a command could be moved
  }
  const std::vector<IssuedCommand> right = traced(config, traffic).trace;
  REQUIRE(test::mistakes_of(config, right).empty());
  std::size_t caught = 0;
  const std::size_t step = right.size() / 100;
  for (std::size_t at = step; at < 100 * step; at += step) {
    std::vector<IssuedCommand> wrong = right;
    wrong[at].tick -= 40;  // more than most commands have to spare
    caught += test::mistakes_of(config, wrong).empty() ? 0 : 1;
    wrong = right;
    wrong[at].row ^= 1U;
    const bool has_row =
        dram::is_column(wrong[at].command) || wrong[at].command == dram::Command::activate;
    CHECK(test::mistakes_of(config, wrong).empty() == !has_row);
    wrong = right;
    if (wrong[at].channel == wrong[at - 1].channel) {
      wrong[at].tick = wrong[at - 1].tick;  // two at once on the bus
      CHECK_FALSE(test::mistakes_of(config, wrong).empty());
    }
  }
  CHECK(caught > 80);
  for (const dram::Command left_out :
       {dram::Command::activate, dram::Command::activate_second, dram::Command::start_data_clock}) {
    std::vector<IssuedCommand> wrong = right;
    wrong.erase(std::ranges::find(wrong, left_out, &IssuedCommand::command));
    CHECK_FALSE(test::mistakes_of(config, wrong).empty());
  }
}

TEST_CASE("cutting time, or going on from a copy, changes nothing") {
  for (const char* preset : {"ddr5-4800", "lpddr5-6400", "hbm3-6400"}) {
    const DramConfig config = load_dram_named(preset);
    const std::vector<Transaction> traffic = test::random_traffic(config, 11, 300);
    const Traced whole = traced(config, traffic);
    BurstMemory memory(config);
    std::vector<IssuedCommand> trace;
    memory.trace_to(&trace);
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      memory.run_until(traffic[i].arrival);  // at which only then the next becomes known
      memory.start(traffic[i]);
      if (i % 50 == 0) {
        BurstMemory ahead = memory;  // whose future must not be ours
        ahead.trace_to(nullptr);
        ahead.run();
      }
    }
    memory.run();
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      INFO(preset << " " << i);
      CHECK(memory.end(i) == whole.ends[i]);
    }
    CHECK(memory.counters() == whole.counters);
    CHECK(trace.size() == whole.trace.size());
  }
}

TEST_CASE("idle time is refreshed through and costs nothing") {
  for (const char* mode : {"all_bank", "per_bank"}) {
    const DramConfig config = load_dram_named("hbm2", {fmt::format("controller.refresh={}", mode)});
    BurstMemory memory(config);
    Transaction early;
    early.length = Bytes(4096);
    Transaction late = early;
    late.arrival = to_femtoseconds(Seconds(1.0));
    memory.start(early);
    memory.start(late);
    memory.run();
    const double interval = static_cast<double>(config.timing.refi) * config.timing.clock.value();
    const double units = static_cast<double>(config.organisation.channels * 2) *
                         (std::string(mode) == "all_bank" ? 1 : 16);
    const auto done = static_cast<double>(memory.counters().refreshes());
    CHECK(done == Approx(units * std::floor(1.0 / interval)).margin(2 * units));
    // The late read finds closed banks, and at worst a refresh.
    const Seconds took = to_seconds(*memory.end(1) - late.arrival);
    CHECK(took.value() >= 49e-9 - 1e-15);
    CHECK(took.value() <= 49e-9 + 2 * 410e-9);
  }
}

TEST_CASE("transactions of no bytes end when they arrive") {
  BurstMemory memory(load_dram_named("ddr4-3200"));
  Transaction nothing;
  nothing.arrival = to_femtoseconds(Seconds(1e-6));
  memory.start(nothing);
  CHECK(memory.end(0) == nothing.arrival);
  memory.run();
  CHECK(memory.end(0) == nothing.arrival);
  CHECK(memory.counters() == Counters{});
}

TEST_CASE("streams share the memory fairly, transactions of one stream go in turn") {
  const DramConfig config = load_dram_named("ddr5-4800", {"controller.refresh=off"});
  Transaction read;
  read.length = Bytes(1 << 20);
  std::vector<Transaction> reads(2, read);
  reads[1].address = std::uint64_t{5} << 30U;
  const dram::BurstRun in_turn = dram::run_bursts(config, reads);
  CHECK(to_microseconds(in_turn.ends[0]) ==
        Approx(to_microseconds(in_turn.ends[1]) / 2).epsilon(0.02));
  reads[1].stream = 1;
  const dram::BurstRun beside = dram::run_bursts(config, reads);
  CHECK(to_microseconds(beside.ends[0]) == Approx(to_microseconds(beside.ends[1])).epsilon(0.01));
  CHECK(to_microseconds(beside.end) >= to_microseconds(in_turn.end) * 0.999);
}

}  // namespace
}  // namespace qfs
